// Clients that `test_tap.py` starts: `clangd COMMAND…` talks to a language server, `ethers URL` to a chain.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { WebSocketProvider } from 'ethers'
import rpc from 'vscode-jsonrpc/node'

const uri = 'file:///nowhere/main.cpp'
const source = 'int answer = 42;\nint main() { return answer + missing; }\n'

const clangd = async command => {
  const server = spawn(command[0], command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(server, 'exit')
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(server.stdout),
    new rpc.StreamMessageWriter(server.stdin),
  )
  const diagnostics = new Promise(found => connection.onNotification('textDocument/publishDiagnostics', found))
  connection.listen()
  const { serverInfo } = await connection.sendRequest('initialize', { processId: null, rootUri: null, capabilities: {} })
  assert.equal(serverInfo.name, 'clangd')
  await connection.sendNotification('initialized', {})
  await connection.sendNotification('textDocument/didOpen', {
    textDocument: { uri, languageId: 'cpp', version: 1, text: source },
  })
  assert.match((await diagnostics).diagnostics[0].message, /missing/)
  const hover = await connection.sendRequest('textDocument/hover', { textDocument: { uri }, position: { line: 0, character: 5 } })
  assert.match(hover.contents.value, /answer/)
  assert.equal(await connection.sendRequest('shutdown'), null)
  await connection.sendNotification('exit')
  connection.end()
  assert.deepEqual(await ended, [0, null])
}

const ethers = async ([url]) => {
  const provider = new WebSocketProvider(url)
  assert.equal((await provider.getNetwork()).chainId, 1337n)
  const block = new Promise(resolve => provider.on('block', resolve))
  const [account] = await provider.send('eth_accounts', [])
  await provider.send('eth_sendTransaction', [{ from: account, to: account, value: '0x1' }])
  assert.equal(await block, 1)
  await assert.rejects(provider.send('no_such_method', []))
  await provider.destroy()
}

const [which, ...rest] = process.argv.slice(2)
await { clangd, ethers }[which](rest)
