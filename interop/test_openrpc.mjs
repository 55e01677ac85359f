// Our OpenRPC documents against the official meta-schema, and against the official tools.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'

const require = createRequire(import.meta.url)
const { openrpcDocument } = require('@open-rpc/meta-schema')
const { parseOpenRPCDocument, validateOpenRPCDocument } = require('@open-rpc/schema-utils-js')
// What the official tools validate with, and the schema of schemas that theirs refers to.
const tools = createRequire(require.resolve('@open-rpc/schema-utils-js'))
const Ajv = tools('ajv').default ?? tools('ajv')
const schemas = tools('@json-schema-tools/meta-schema').default ?? tools('@json-schema-tools/meta-schema')

const demo = () => JSON.parse(execFileSync(process.env.SABIR, ['describe', 'demo:', '--openrpc'], { encoding: 'utf8' }))
const golden = name => JSON.parse(readFileSync(new URL(`../crates/sabir/tests/data/${name}`, import.meta.url), 'utf8'))

const valid = document => {
  const ajv = new Ajv()
  ajv.addSchema(schemas, 'https://meta.json-schema.tools')
  ajv.validate(openrpcDocument, document)
  return ajv.errors
}

for (const [name, document] of [
  ['the demo service', demo],
  ['a service from a trait', () => golden('service.openrpc.json')],
  ['a router', () => golden('router.openrpc.json')],
]) {
  test(`open-rpc: the document of ${name} is valid`, { timeout: 30_000 }, async () => {
    const made = document()
    assert.equal(valid(made), null)
    assert.equal(validateOpenRPCDocument(made), true)
    // References are followed as well.
    const parsed = await parseOpenRPCDocument(made)
    assert.equal(parsed.methods.length, made.methods.length)
    const names = made.methods.map(method => method.name)
    assert.deepEqual(names, [...new Set(names)].sort())
  })
}

test('open-rpc: a document that is wrong is found out', () => {
  const made = demo()
  delete made.methods[0].params
  assert.notEqual(valid(made), null)
  assert.notEqual(validateOpenRPCDocument(made), true)
})
