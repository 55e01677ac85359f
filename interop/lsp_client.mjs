// A client with vscode-jsonrpc: starts the language server that the arguments name, asks it a few things, and ends it.

import { spawn } from 'node:child_process'
import rpc from 'vscode-jsonrpc/node'

const uri = 'file:///nowhere/main.cpp'
const text = 'int answer = 42;\nint main() { return answer + missing; }\n'
const [command, ...args] = process.argv.slice(2)
const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
const ended = new Promise(end => server.on('exit', end))
const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(server.stdout),
  new rpc.StreamMessageWriter(server.stdin),
)
const diagnostics = new Promise(found => connection.onNotification('textDocument/publishDiagnostics', found))
connection.onRequest(() => null)
connection.onUnhandledProgress(() => {})
connection.listen()
const capabilities = { window: { workDoneProgress: true } }
await connection.sendRequest('initialize', { processId: process.pid, rootUri: null, capabilities })
await connection.sendNotification('initialized', {})
await connection.sendNotification('textDocument/didOpen', { textDocument: { uri, languageId: 'cpp', version: 1, text } })
await diagnostics
const at = (line, character) => ({ textDocument: { uri }, position: { line, character } })
console.log(JSON.stringify(await connection.sendRequest('textDocument/hover', at(0, 5))))
console.log(JSON.stringify(await connection.sendRequest('textDocument/definition', at(1, 22))))
await connection.sendRequest('no/such/method').catch(error => console.log(error.code))
await connection.sendRequest('shutdown')
await connection.sendNotification('exit')
connection.end()
process.exit(await ended)
