// vscode-languageserver-protocol, the layer below vscode-languageclient, against the example `lsp_server`.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import lsp from 'vscode-languageserver-protocol/node'
import { TextDocument } from 'vscode-languageserver-textdocument'

const URI = 'file:///words.txt'

/** A session with a server of its own: what it is told is collected, what it asks is answered. */
const check = (name, talk, encoding = 'utf-16') => test(`vscode-languageserver-protocol: ${name}`, { timeout: 30_000 }, async t => {
  const server = spawn(process.env.LSP_SERVER, [], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => { if (server.exitCode === null) server.kill('SIGKILL') })
  const ended = once(server, 'exit')
  const connection = lsp.createProtocolConnection(
    new lsp.StreamMessageReader(server.stdout),
    new lsp.StreamMessageWriter(server.stdin),
  )
  const errors = []
  connection.onError(([error]) => errors.push(error))
  const published = new Map()
  const waiting = new Map()
  connection.onNotification(lsp.PublishDiagnosticsNotification.type, params => {
    published.set(params.version, params.diagnostics)
    waiting.get(params.version)?.(params.diagnostics)
  })
  const diagnostics = version => published.get(version) ?? new Promise(resolve => waiting.set(version, resolve))
  connection.listen()
  const capabilities = {
    general: { positionEncodings: [encoding] },
    textDocument: { publishDiagnostics: { versionSupport: true }, rename: {}, completion: {} },
    window: { workDoneProgress: true },
  }
  const initialized = await connection.sendRequest(lsp.InitializeRequest.type, {
    processId: process.pid, rootUri: null, workspaceFolders: null, capabilities, clientInfo: { name: 'interop' },
  })
  await connection.sendNotification(lsp.InitializedNotification.type, {})
  const open = text => connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, {
    textDocument: { uri: URI, languageId: 'plaintext', version: 1, text },
  })
  await talk({ connection, initialized, open, diagnostics })
  assert.equal(await connection.sendRequest(lsp.ShutdownRequest.type), null)
  await assert.rejects(
    connection.sendRequest(lsp.HoverRequest.type, at(0, 0)),
    error => error.code === lsp.ErrorCodes.InvalidRequest,
  )
  await connection.sendNotification(lsp.ExitNotification.type)
  assert.deepEqual(await ended, [0, null])
  assert.deepEqual(errors, [])
})

const at = (line, character) => ({ textDocument: { uri: URI }, position: { line, character } })

check('a session of an editor', async ({ connection, initialized, open, diagnostics }) => {
  assert.equal(initialized.serverInfo.name, 'words')
  assert.equal(initialized.capabilities.positionEncoding, 'utf-16')
  assert.equal(initialized.capabilities.textDocumentSync.change, lsp.TextDocumentSyncKind.Incremental)
  await open(`horse 🐎 horse\n${'x'.repeat(120)}\n`)
  const [long] = await diagnostics(1)
  assert.deepEqual(long.range, { start: { line: 1, character: 100 }, end: { line: 1, character: 120 } })

  const hover = await connection.sendRequest(lsp.HoverRequest.type, at(0, 10))
  assert.equal(hover.contents, '`horse`, 2 times')
  // Behind a surrogate pair.
  assert.deepEqual(hover.range, { start: { line: 0, character: 9 }, end: { line: 0, character: 14 } })

  const items = await connection.sendRequest(lsp.CompletionRequest.type, at(0, 2))
  assert.deepEqual(items.map(item => item.label), ['horse'])

  const edit = await connection.sendRequest(lsp.RenameRequest.type, { ...at(0, 0), newName: 'kůň' })
  const document = TextDocument.create(URI, 'plaintext', 1, 'horse 🐎 horse\n')
  assert.equal(TextDocument.applyEdits(document, edit.changes[URI]), 'kůň 🐎 kůň\n')
  await assert.rejects(
    connection.sendRequest(lsp.RenameRequest.type, { ...at(0, 0), newName: 'a b' }),
    error => error.code === lsp.LSPErrorCodes.RequestFailed && error.message === '`a b` is not a word',
  )
})

for (const encoding of ['utf-16', 'utf-8', 'utf-32']) {
  check(`incremental changes, in ${encoding}`, async ({ connection, initialized, open, diagnostics }) => {
    assert.equal(initialized.capabilities.positionEncoding, encoding)
    await open('a🐎b\r\nc')
    await diagnostics(1)
    const width = { 'utf-16': 2, 'utf-8': 4, 'utf-32': 1 }[encoding]
    const change = (start, end, text) => ({ range: { start, end }, text })
    const here = (line, character) => ({ line, character })
    await connection.sendNotification(lsp.DidChangeTextDocumentNotification.type, {
      textDocument: { uri: URI, version: 2 },
      contentChanges: [
        change(here(0, 1), here(0, 1 + width), 'x'),
        change(here(0, 99), here(1, 0), ' '),
        change(here(7, 0), here(7, 0), '🐎z'),
      ],
    })
    // "axb c🐎z"
    const hover = await connection.sendRequest(lsp.HoverRequest.type, at(0, 5 + width))
    assert.deepEqual([hover.contents, hover.range.start.character], ['`z`, 1 times', 5 + width])
  }, encoding)
}

check('a request sees the changes before it', async ({ connection, open }) => {
  await open('')
  const hovers = []
  for (let version = 2; version < 200; version++) {
    connection.sendNotification(lsp.DidChangeTextDocumentNotification.type, {
      textDocument: { uri: URI, version }, contentChanges: [{ text: `word${version}` }],
    })
    hovers.push(connection.sendRequest(lsp.HoverRequest.type, at(0, 0)))
  }
  const contents = (await Promise.all(hovers)).map(hover => hover.contents)
  assert.deepEqual(contents, Array.from({ length: 198 }, (_, n) => `\`word${n + 2}\`, 1 times`))
})

check('partial results', async ({ connection, open }) => {
  await open('w '.repeat(1000))
  const parts = []
  connection.onProgress(lsp.ReferencesRequest.type.partialResultType ?? new lsp.ProgressType(), 'mine', part => parts.push(part))
  const params = { ...at(0, 0), context: { includeDeclaration: true } }
  const rest = await connection.sendRequest(lsp.ReferencesRequest.type, { ...params, partialResultToken: 'mine' })
  assert.deepEqual(rest, [])
  assert.equal(parts.flat().length, 1000)
  assert.ok(parts.length > 1)
  assert.equal((await connection.sendRequest(lsp.ReferencesRequest.type, params)).length, 1000)
})

check('unknown and misplaced messages', async ({ connection }) => {
  connection.sendNotification('$/unknown', {})
  connection.sendNotification('unknown', {})
  for (const method of ['$/unknown', 'unknown']) {
    await assert.rejects(connection.sendRequest(method, {}), error => error.code === lsp.ErrorCodes.MethodNotFound)
  }
  await assert.rejects(
    connection.sendRequest(lsp.InitializeRequest.type, { processId: null, rootUri: null, capabilities: {} }),
    error => error.code === lsp.ErrorCodes.InvalidRequest,
  )
  await assert.rejects(
    connection.sendRequest(lsp.HoverRequest.type, at(0, 0)),
    error => error.code === lsp.ErrorCodes.InvalidParams && /is not open/.test(error.data.reason),
  )
})

test('vscode-languageserver-protocol: the server ends with 1 without a shutdown', { timeout: 30_000 }, async () => {
  const server = spawn(process.env.LSP_SERVER, [], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(server, 'exit')
  const connection = lsp.createProtocolConnection(
    new lsp.StreamMessageReader(server.stdout),
    new lsp.StreamMessageWriter(server.stdin),
  )
  connection.listen()
  await assert.rejects(
    connection.sendRequest(lsp.HoverRequest.type, at(0, 0)),
    error => error.code === lsp.ErrorCodes.ServerNotInitialized,
  )
  await connection.sendNotification(lsp.ExitNotification.type)
  assert.deepEqual(await ended, [1, null])
})

test('vscode-languageserver-protocol: the server ends with the process of its client', { timeout: 30_000 }, async t => {
  const client = spawn('sleep', ['600'])
  const server = spawn(process.env.LSP_SERVER, [], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => { for (const process of [client, server]) if (process.exitCode === null) process.kill('SIGKILL') })
  const ended = once(server, 'exit')
  const connection = lsp.createProtocolConnection(
    new lsp.StreamMessageReader(server.stdout),
    new lsp.StreamMessageWriter(server.stdin),
  )
  connection.listen()
  await connection.sendRequest(lsp.InitializeRequest.type, { processId: client.pid, rootUri: null, capabilities: {} })
  client.kill('SIGKILL')
  // Our end of the pipes stays open.
  assert.deepEqual(await ended, [1, null])
})
