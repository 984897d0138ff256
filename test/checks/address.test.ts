import { expect, it } from 'vitest'
import type { Check } from '../../server/operations/checks/doctor/check.ts'
import { testApp } from '../app.ts'
import { adminJson } from '../support/admin.ts'
import { freePort } from '../support/free-port.ts'
import { startProxy } from '../support/proxy.ts'

it('finds a proxy that strips the path of SERVER_URL, although the probes answer', async () => {
  const port = await freePort()
  await using app = await testApp({ env: { SERVER_URL: `http://127.0.0.1:${port}/pub` } })
  const own = await app.listen()
  let taken = '/pub'
  await startProxy(own, { port, pathOf: (path) => path.slice(taken.length) })
  const doctor = async () => {
    const { code, body } = await adminJson(app, 'doctor', '--quick')
    return [code, ...['address', 'versions'].map((wanted) => body.checks.find(({ name }: Check) => name === wanted))]
  }
  const message = expect.stringMatching(/\/pub\/api\/v1\/version returned 404 .*, which is not a response of this server/)
  expect(await doctor()).toMatchObject([1, { status: 'failed', message, advice: expect.stringContaining('unchanged path') }, {}])
  taken = ''
  const [ready, running] = [expect.stringContaining('and is ready'), expect.stringContaining('the running server')]
  expect(await doctor()).toMatchObject([0, { status: 'ok', message: ready }, { message: running }])
})
