// The building blocks in tools from npm: examples by `ajv`, their triples by `jsonld`.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import jsonld from 'jsonld'
import { Parser, Writer } from 'n3'

const require = createRequire(import.meta.url)
const { default: Ajv } = require('ajv/dist/2020.js')

const root = new URL('../building-blocks/', import.meta.url)
const files = new URL('../crates/model/files/', import.meta.url)
const read = url => readFileSync(url, 'utf8')
const load = url => JSON.parse(read(url))
const blocks = readdirSync(root, { withFileTypes: true }).filter(entry => entry.isDirectory() && entry.name !== 'ogc').map(entry => entry.name)

const documentLoader = url => ({ contextUrl: null, documentUrl: url, document: load(new URL(url)) })
const canonical = (input, options) => jsonld.canonize(input, { algorithm: 'RDFC-1.0', safe: false, documentLoader, ...options })
const ofTurtle = text => {
  const writer = new Writer({ format: 'N-Quads' })
  writer.addQuads(new Parser().parse(text))
  return new Promise((resolve, reject) => writer.end((error, quads) => (error ? reject(error) : resolve(quads))))
}

const withSchemas = () => {
  const ajv = new Ajv({ strict: false, validateFormats: false })
  for (const block of blocks)
    for (const name of readdirSync(new URL(`${block}/`, root)).filter(name => /^schema.*\.json$/.test(name)))
      ajv.addSchema(load(new URL(`${block}/${name}`, root)), new URL(`${block}/${name}`, root).href)
  return ajv
}

// A session of MCP with a server that others wrote, as it was recorded.
const recorded = () => {
  const folder = mkdtempSync(join(tmpdir(), 'blocks-'))
  const record = join(folder, 'session.jrl')
  const server = fileURLToPath(new URL('node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url))
  const target = `stdio:${process.env.SABIR} tap --record ${record} -- node ${server}`
  execFileSync(process.env.SABIR, ['call', target, 'get-sum', 'a=1', 'b=2'], { encoding: 'utf8', timeout: 30_000 })
  const text = read(record)
  rmSync(folder, { recursive: true })
  assert.match(text, /tools\/call/)
  return text
}

// The messages of the specification's examples that are JSON.
const specification = read(new URL('../crates/proto/tests/data/specification.rpc', import.meta.url))
  .split('\n')
  .filter(line => /^[<>] /.test(line))
  .flatMap(line => {
    try {
      return [JSON.parse(line.slice(2))]
    } catch {
      return []
    }
  })

// What a processor of JSON-LD would obey, and numbers that not everybody can hold.
const hostile = [
  '{"@context":"http://evil.example/","@id":"urn:x","@type":"jrpc:Error","jsonrpc":"2.0","id":9007199254740993,"result":{"@id":"urn:y","n":1e300}}',
  '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a b/../\\u0000<\\"","arguments":{"@id":"urn:z","n":9007199254740993}}}',
  '{"jsonrpc":"2.0","id":-0,"method":"x","params":{"@type":"y","@graph":[1],"@value":2}}',
  '{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"x","params":[1e308,5e-324]}',
]

test('ajv takes each example for what it is', () => {
  const ajv = withSchemas()
  let count = 0
  for (const block of blocks)
    for (const { source, sections } of load(new URL(`${block}/results/_report.json`, root)).items.filter(item => item.sections[0].name === 'JSON_SCHEMA')) {
      const [file, anchor] = sections[0].entries[0].filename.split('#')
      const valid = ajv.validate({ $ref: `${new URL(`${block}/${file}`, root).href}#${anchor}` }, load(new URL(`${block}/results/${source.filename}`, root)))
      assert.equal(valid, !source.requireFail, `${block}: ${source.title}: ${ajv.errorsText()}`)
      count++
    }
  assert.ok(count > 60)
})

test('what the README shows runs', () => {
  const [, code] = read(new URL('README.md', root)).match(/```js\n(.*?)```/s)
  // In the folder of the packages, with the blocks beside it.
  const at = new URL('readme-of-blocks.mjs', import.meta.url)
  writeFileSync(at, code.replace("'building-blocks/'", "'../building-blocks/'"))
  try {
    assert.match(execFileSync(process.execPath, [fileURLToPath(at)], { encoding: 'utf8' }), /must be string/)
  } finally {
    rmSync(at)
  }
})

test('jsonld gives the triples beside each example', async () => {
  let count = 0
  for (const block of blocks)
    for (const name of readdirSync(new URL(`${block}/results/`, root)).filter(name => name.endsWith('.jsonld'))) {
      const url = new URL(`${block}/results/${name}`, root)
      const turtle = await ofTurtle(read(new URL(name.replace('.jsonld', '.ttl'), url)))
      // Classes are added by SPARQL after the context; the test in Python runs it.
      const facts = turtle.split('\n').filter(line => !line.includes(' <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> '))
      const want = await canonical(facts.join('\n'), { inputFormat: 'application/n-quads' })
      assert.equal(await canonical(load(url), { base: url.href }), want, `${block}/${name}`)
      count++
    }
  assert.ok(count > 40)
})

test('ajv takes each message of a real session for what MCP says', () => {
  const ajv = withSchemas()
  const messages = recorded().split('\n').filter(Boolean).slice(1).map(line => JSON.parse(line).msg).filter(Boolean)
  assert.ok(messages.length > 5)
  const revision = messages.find(message => message.result?.protocolVersion).result.protocolVersion
  for (const file of ['schema.json', `schema-${revision}.json`]) {
    const valid = ajv.compile({ $ref: new URL(`mcp/${file}`, root).href })
    for (const message of messages) {
      assert.ok(valid(message), `${file}: ${JSON.stringify(message)}: ${ajv.errorsText(valid.errors)}`)
      assert.ok(!valid({ ...message, jsonrpc: '1.0' }))
    }
  }
})

test("ajv takes the specification's messages and hostile ones for what they are", () => {
  const valid = withSchemas().compile({ $ref: new URL('json-rpc/schema.json', root).href })
  const refused = specification.filter(message => !valid(message))
  // The specification shows them as wrong; the last is a batch with some that are.
  assert.deepEqual(
    refused.map(message => (Array.isArray(message) ? message.length : message.method)),
    [1, 0, 1, 3, 6],
  )
  for (const text of hostile) assert.ok(valid(JSON.parse(text)), text)
})

test('the names that are published give the same triples, but for those names', async () => {
  const published = [
    ['http://json-rpc.org/ontology#hasVersion', 'http://json-rpc.org/ontology#version'],
    ['urn:sabir:ontology#id', 'http://json-rpc.org/ontology#hasId'],
    ['urn:sabir:ontology#params', 'http://json-rpc.org/ontology#hasParameters'],
    ['urn:sabir:ontology#result', 'http://json-rpc.org/ontology#hasResult'],
  ]
  let count = 0
  for (const [block, context] of [['json-rpc', 'context.jsonld'], ['mcp', 'mcp-context.jsonld']])
    for (const name of readdirSync(new URL(`${block}/results/`, root)).filter(name => name.endsWith('.jsonld'))) {
      const url = new URL(`${block}/results/${name}`, root)
      const document = { ...load(url), '@context': load(new URL(`ogc/${context}`, root))['@context'] }
      const ours = await jsonld.toRDF(load(url), { base: url.href, format: 'application/n-quads', safe: false, documentLoader })
      const renamed = published.reduce((text, [from, to]) => text.replaceAll(`<${from}>`, `<${to}>`), ours)
      const want = await canonical(renamed, { inputFormat: 'application/n-quads' })
      assert.equal(await canonical(document, { base: url.href }), want, `${block}/${name}`)
      count++
    }
  assert.ok(count > 60)
})

test("the specification's messages, hostile ones and a real session of MCP are the same graph to jsonld", async () => {
  const example = name => read(new URL(`examples/${name}.jrl`, files))
  const lines = messages => messages.map(message => JSON.stringify(message) + '\n').join('')
  const inputs = [recorded(), example('mcp-session'), example('mcp-features'), example('session'), lines(specification), hostile.join('\n') + '\n']
  for (const input of inputs) {
    const graph = format => execFileSync(process.env.SABIR, ['graph', '-', '--format', format], { input, encoding: 'utf8' })
    const want = await canonical(graph('ntriples'), { inputFormat: 'application/n-quads' })
    assert.equal(await canonical(JSON.parse(graph('jsonld'))), want)
  }
})
