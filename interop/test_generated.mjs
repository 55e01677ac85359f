// The generated TypeScript client: type-checked by tsc, then run against `sabir demo`.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const SABIR = process.env.SABIR
const folder = mkdtempSync(join(tmpdir(), 'sabir-generated-'))
process.on('exit', () => rmSync(folder, { recursive: true }))

/** Compiles files; what tsc has to say, if anything. */
const compile = (...files) => {
  const flags = ['--strict', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler',
    '--lib', 'es2022,dom,dom.iterable', '--types', '', '--outDir', folder]
  try {
    execFileSync('node_modules/.bin/tsc', [...flags, ...files.map(file => join(folder, file))], { encoding: 'utf8' })
    return ''
  } catch (error) {
    return error.stdout
  }
}

execFileSync(SABIR, ['generate', '--lang', 'typescript', 'demo:', '-o', join(folder, 'demo.ts')])
const everything = '../crates/cli/tests/data/generated/everything.json'
execFileSync(SABIR, ['generate', '--lang', 'typescript', everything, '-o', join(folder, 'everything.ts')])
const hostile = '../crates/cli/tests/data/generated/hostile.json'
execFileSync(SABIR, ['generate', '--lang', 'typescript', hostile, '--name', 'Hostile', '-o', join(folder, 'hostile.ts')])
execFileSync(SABIR, ['generate', '--lang', 'typescript', '--name', 'Tools', '-o', join(folder, 'tools.ts'), '--', SABIR, 'demo', '--mcp'])
writeFileSync(join(folder, 'package.json'), '{"type":"module"}')

test('typescript: the clients pass tsc --strict', { timeout: 60_000 }, () => {
  assert.equal(compile('demo.ts', 'everything.ts'), '')
})

test('typescript: wrong types are found by the compiler', { timeout: 60_000 }, () => {
  writeFileSync(join(folder, 'wrong.ts'), `
    import { SabirDemo, overHttp } from './demo'
    const demo = new SabirDemo(overHttp('http://localhost'))
    demo.add('2', 3)
    demo.subtract(1)
    const text: string = await demo.add(1, 2)
    export { text }
  `)
  const said = compile('wrong.ts')
  assert.equal(said.match(/error TS/g)?.length, 3, said)
})

test('typescript: a document that was written to do harm is a client like others', { timeout: 60_000 }, async () => {
  assert.equal(compile('hostile.ts'), '')
  const { Hostile } = await import(join(folder, 'hostile.js'))
  assert.equal(globalThis.OWNED, undefined)
  // The names are what the document says, however they are spelt.
  const sent = []
  const client = new Hostile(async message => {
    sent.push(message)
    return { jsonrpc: '2.0', id: message.id, result: null }
  })
  const methods = Object.getOwnPropertyNames(Hostile.prototype).filter(name => name !== 'constructor')
  for (const method of methods) await client[method]('1', '2', '3')
  const document = JSON.parse(readFileSync(hostile, 'utf8'))
  assert.deepEqual(sent.map(message => message.method), document.methods.map(method => method.name))
  for (const [i, { paramStructure, params }] of document.methods.entries()) {
    const names = [...new Set(params.map(param => param.name))].slice(0, 3)
    const named = Object.fromEntries(names.map((name, i) => [name, String(i + 1)]))
    const wanted = paramStructure === 'by-name' ? named : ['1', '2', '3']
    assert.deepEqual(JSON.parse(JSON.stringify(sent[i].params)), wanted)
  }
})

/** The same for every way to talk. */
const talk = async (exchange, { SabirDemo, RpcError }) => {
  const demo = new SabirDemo(exchange)
  assert.equal(await demo.add(2, 3), 5)
  assert.equal(await demo.sum([1, 2, 4]), 7)
  assert.deepEqual(await demo.getData(), ['hello', 5])
  assert.deepEqual(await demo.echo({ a: [null] }), { a: [null] })
  await demo.update(['noted'])
  await assert.rejects(demo.fail(7, 'seven', [1]), error =>
    error instanceof RpcError && error.code === 7 && error.message === 'seven' && error.data[0] === 1)
  const many = Array.from({ length: 50 }, (_, i) => demo.add(i, 1))
  assert.deepEqual(await Promise.all(many), many.map((_, i) => i + 1))
}

test('typescript: calls the demo over stdio', { timeout: 30_000 }, async () => {
  const client = await import(join(folder, 'demo.js'))
  const child = spawn(SABIR, ['demo'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exchange = client.overLines(child.stdout, line => child.stdin.write(line))
  await talk(exchange, client)
  assert.deepEqual(await new client.SabirDemo(exchange).notes(), [['noted']])
  // What the server sends by itself is not taken for an answer.
  assert.equal(await new client.SabirDemo(exchange).progress(2), 2)
  child.stdin.end()
  await once(child, 'exit')
  await assert.rejects(new client.SabirDemo(exchange).add(1, 2), /closed/)
})

test('typescript: calls the demo over tcp', { timeout: 30_000 }, async t => {
  const client = await import(join(folder, 'demo.js'))
  const server = spawn(SABIR, ['demo', '--listen', 'tcp://127.0.0.1:0'], { stdio: ['ignore', 'inherit', 'pipe'] })
  t.after(() => server.kill())
  const [said] = await once(server.stderr, 'data')
  const socket = connect(Number(/:(\d+)\s*$/.exec(String(said))[1]), '127.0.0.1')
  await talk(client.overLines(socket, line => socket.write(line)), client)
  socket.destroy()
})

test('typescript: calls the demo over http', { timeout: 30_000 }, async t => {
  const client = await import(join(folder, 'demo.js'))
  const server = spawn(SABIR, ['demo', '--listen', 'http://127.0.0.1:0'], { stdio: ['ignore', 'inherit', 'pipe'] })
  t.after(() => server.kill())
  const [said] = await once(server.stderr, 'data')
  await talk(client.overHttp(String(said).trim().split(' ').at(-1)), client)
})

test('typescript: tools of an MCP server are called by name', { timeout: 60_000 }, async () => {
  assert.equal(compile('tools.ts'), '')
  const { Tools, ToolError } = await import(join(folder, 'tools.js'))
  const client = new Client({ name: 'test', version: '1.0' })
  await client.connect(new StdioClientTransport({ command: SABIR, args: ['demo', '--mcp'] }))
  try {
    const tools = new Tools(client)
    assert.equal((await tools.testSimpleText()).content[0].type, 'text')
    assert.equal((await tools.add(2, 3)).content[0].text, '5')
    assert.deepEqual(await tools.divide(7, 2), { quotient: 3.5 })
    await assert.rejects(tools.divide(1, 0), ToolError)
  } finally {
    await client.close()
  }
})
