// vscode-jsonrpc against `sabir demo`, with Content-Length headers over standard input and output.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import rpc from 'vscode-jsonrpc/node'

/** Talks to a server of its own, which must end well when its input ends. */
const check = (name, talk) => test(`vscode-jsonrpc: ${name}`, { timeout: 30_000 }, async t => {
  const server = spawn(process.env.SABIR, ['demo', '--framing', 'headers'], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => { if (server.exitCode === null) server.kill('SIGKILL') })
  const ended = once(server, 'exit')
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(server.stdout),
    new rpc.StreamMessageWriter(server.stdin),
  )
  const errors = []
  connection.onError(([error]) => errors.push(error))
  connection.listen()
  await talk(connection)
  connection.end()
  assert.deepEqual(await ended, [0, null])
  assert.deepEqual(errors, [])
})

const refusal = async promise => {
  try {
    await promise
  } catch (error) {
    assert.ok(error instanceof rpc.ResponseError, `${error}`)
    return { code: error.code, message: error.message, data: error.data }
  }
  assert.fail('expected an error')
}

const { byName, byPosition } = rpc.ParameterStructures

check('requests by position and by name', async connection => {
  assert.equal(await connection.sendRequest('add', 2, 3), 5)
  assert.equal(await connection.sendRequest('subtract', byName, { minuend: 42, subtrahend: 23 }), 19)
  assert.equal(await connection.sendRequest('subtract', byPosition, 42, 23), 19)
  assert.deepEqual(await connection.sendRequest('get_data'), ['hello', 5])
  assert.deepEqual(await connection.sendRequest('echo', { text: 'žluťoučký 🐎\n' }), { text: 'žluťoučký 🐎\n' })
})

check('a megabyte goes there and back', async connection => {
  const text = 'ř'.repeat(1 << 19)
  assert.deepEqual(await connection.sendRequest('echo', { text }), { text })
})

check('calls at once find their answers', async connection => {
  const numbers = Array.from({ length: 500 }, (_, n) => n)
  const slow = connection.sendRequest('sleep', 100)
  assert.deepEqual(await Promise.all(numbers.map(n => connection.sendRequest('add', n, n))), numbers.map(n => 2 * n))
  assert.equal(await slow, 100)
})

check('a cancelled call is answered -32800', async connection => {
  const source = new rpc.CancellationTokenSource()
  const call = connection.sendRequest('sleep', 60_000, source.token)
  // The answer is behind the start of the call.
  await connection.sendRequest('add', 1, 1)
  source.cancel()
  assert.equal((await refusal(call)).code, -32800)
  assert.equal(await connection.sendRequest('add', 1, 1), 2)
})

check('progress comes in order, before the result', async connection => {
  const seen = []
  connection.onProgress(new rpc.ProgressType(), 'token', value => seen.push(value))
  connection.onProgress(new rpc.ProgressType(), 7, value => seen.push(value))
  assert.equal(await connection.sendRequest('work', { steps: 3, workDoneToken: 'token' }), 3)
  assert.deepEqual(seen, [{ step: 0 }, { step: 1 }, { step: 2 }])
  assert.equal(await connection.sendRequest('work', { steps: 1, workDoneToken: 7 }), 1)
  assert.equal(seen.length, 4)
})

check('the server asks back', async connection => {
  connection.onRequest('double', n => 2 * n)
  connection.onRequest('refuse', () => new rpc.ResponseError(17, 'no', { why: 'because' }))
  assert.equal(await connection.sendRequest('ask', 'double', [21]), 42)
  assert.deepEqual(
    await refusal(connection.sendRequest('ask', byName, { method: 'refuse' })),
    { code: 17, message: 'no', data: { why: 'because' } },
  )
  assert.equal((await refusal(connection.sendRequest('ask', 'nothing', []))).code, rpc.ErrorCodes.MethodNotFound)
})

check('a question that is cancelled is cancelled on its way back', async connection => {
  const asked = deferred()
  const cancelled = deferred()
  connection.onRequest('wait', (...params) => {
    const token = params.at(-1)
    asked.resolve()
    return new Promise(resolve => token.onCancellationRequested(() => {
      cancelled.resolve()
      resolve(null)
    }))
  })
  const source = new rpc.CancellationTokenSource()
  const call = connection.sendRequest('ask', byPosition, 'wait', [], source.token)
  await asked.promise
  source.cancel()
  assert.equal((await refusal(call)).code, -32800)
  await cancelled.promise
  // The late answer to the question hurts nobody.
  assert.equal(await connection.sendRequest('add', 1, 1), 2)
})

check('notifications keep their order, both ways', async connection => {
  const ticks = []
  connection.onNotification('ticked', n => ticks.push(n))
  assert.equal(await connection.sendRequest('tick', 200), 200)
  assert.deepEqual(ticks, Array.from({ length: 200 }, (_, n) => n))
  for (const n of [1, 2, 3]) connection.sendNotification('update', { n })
  assert.deepEqual(await connection.sendRequest('notes'), [{ n: 1 }, { n: 2 }, { n: 3 }])
})

check('errors come as they are', async connection => {
  const error = { code: -12345, message: 'as asked', data: { deep: [1, null] } }
  assert.deepEqual(await refusal(connection.sendRequest('fail', byName, error)), error)
  assert.equal((await refusal(connection.sendRequest('foobar'))).code, rpc.ErrorCodes.MethodNotFound)
  assert.equal((await refusal(connection.sendRequest('add', 1))).code, rpc.ErrorCodes.InvalidParams)
  assert.equal((await refusal(connection.sendRequest('panic'))).code, rpc.ErrorCodes.InternalError)
  assert.equal(await connection.sendRequest('add', 1, 1), 2)
})

function deferred() {
  const it = {}
  it.promise = new Promise((resolve, reject) => Object.assign(it, { resolve, reject }))
  return it
}
