// vscode-jsonrpc against clangd, through the example `proxy`, with Content-Length headers on both sides.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import rpc from 'vscode-jsonrpc/node'

const uri = 'file:///nowhere/main.cpp'
const source = 'int answer = 42;\nint main() { return answer + missing; }\n'

/** Talks to a clangd of its own behind a proxy, which must end well when its input ends. */
const check = (name, talk) => test(`vscode-jsonrpc, proxy, clangd: ${name}`, { timeout: 60_000 }, async t => {
  const args = ['--headers', 'stdio:', 'clangd', '--log=error']
  const proxy = spawn(process.env.PROXY, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => { if (proxy.exitCode === null) proxy.kill('SIGKILL') })
  const ended = once(proxy, 'exit')
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(proxy.stdout),
    new rpc.StreamMessageWriter(proxy.stdin),
  )
  const errors = []
  connection.onError(([error]) => errors.push(error))
  const diagnostics = new Promise(found => {
    connection.onNotification('textDocument/publishDiagnostics', params => found(params))
  })
  const asked = []
  connection.onRequest((method, params) => { asked.push(method); return null })
  const progress = []
  connection.onUnhandledProgress(params => progress.push(params))
  connection.listen()
  const capabilities = { window: { workDoneProgress: true } }
  const { serverInfo } = await connection.sendRequest('initialize', { processId: null, rootUri: null, capabilities })
  assert.equal(serverInfo.name, 'clangd')
  await connection.sendNotification('initialized', {})
  await connection.sendNotification('textDocument/didOpen', {
    textDocument: { uri, languageId: 'cpp', version: 1, text: source },
  })
  await talk(connection, { diagnostics, asked, progress })
  assert.equal(await connection.sendRequest('shutdown'), null)
  await connection.sendNotification('exit')
  connection.end()
  assert.deepEqual(await ended, [0, null])
  assert.deepEqual(errors, [])
})

const at = (line, character) => ({ textDocument: { uri }, position: { line, character } })

check('diagnostics, hover and completion', async (connection, { diagnostics }) => {
  const found = await diagnostics
  assert.equal(found.uri, uri)
  assert.match(found.diagnostics[0].message, /missing/)
  const hover = await connection.sendRequest('textDocument/hover', at(0, 5))
  assert.match(hover.contents.value, /answer/)
  const { items } = await connection.sendRequest('textDocument/completion', at(1, 22))
  assert.ok(items.length > 0)
})

check('an edit is seen by the request behind it', async connection => {
  for (let version = 2; version < 50; version++) {
    const name = `answer_${version}`
    connection.sendNotification('textDocument/didChange', {
      textDocument: { uri, version },
      contentChanges: [{ text: source.replaceAll('answer', name) }],
    })
    const symbols = await connection.sendRequest('textDocument/documentSymbol', { textDocument: { uri } })
    assert.equal(symbols[0].name, name)
  }
})

check('a cancelled request is answered', async connection => {
  const source = new rpc.CancellationTokenSource()
  const call = connection.sendRequest('textDocument/completion', at(1, 22), source.token)
  source.cancel()
  try {
    await call
  } catch (error) {
    assert.equal(error.code, -32800)
  }
  assert.ok(await connection.sendRequest('textDocument/hover', at(0, 5)))
})

check('errors keep their code', async connection => {
  await assert.rejects(connection.sendRequest('no/such/method'), { code: -32601 })
})
