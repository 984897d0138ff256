import { expect, it } from 'vitest'
import type { Check } from '../../server/operations/checks/doctor/check.ts'
import { environmentOf, runCommand } from '../support/admin.ts'
import { mirrorOf } from '../support/mirror.ts'
import { failWith } from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

async function checksOf(env: Record<string, string>, status?: number): Promise<{ upstream: Upstream; checks: Check[] }> {
  const upstream = await Upstream.start()
  if (status !== undefined) upstream.fail('/api/package-name-completion-data', failWith(status))
  await using app = await mirrorOf(upstream, { env })
  const { out } = await runCommand({ ...environmentOf(app), UPSTREAM_URL: upstream.url, ...env }, 'doctor', '--quick', '--json')
  const { checks }: { checks: Check[] } = JSON.parse(out)
  return { upstream, checks }
}

const named = (checks: Check[], name: string) => checks.filter((check) => check.name === name)

it('doctor describes which requests go through the forward proxy, without its password', async () => {
  const { checks } = await checksOf({ HTTPS_PROXY: 'http://me:secret@proxy.example:3128', NO_PROXY: '.internal.example' })
  const [check, ...others] = named(checks, 'forward proxy')
  expect(others).toEqual([])
  expect(check?.message).toContain('the mirror: directly; SDKs: through the proxy http://proxy.example:3128')
  expect(JSON.stringify(checks)).not.toContain('secret')
})

it('doctor does not mention a forward proxy without one', async () => {
  const { checks } = await checksOf({})
  expect(named(checks, 'forward proxy')).toEqual([])
  expect(named(checks, 'mirror')).toMatchObject([{ status: 'ok' }])
})

it.each([
  [401, {}, 'must set UPSTREAM_TOKEN to an access token of'],
  [403, {}, 'must set UPSTREAM_TOKEN to an access token of'],
  [401, { UPSTREAM_TOKEN: 'wrong' }, 'does not accept UPSTREAM_TOKEN'],
])('doctor warns if the upstream server answers %s', async (status, env, message) => {
  const { upstream, checks } = await checksOf(env, status)
  expect(named(checks, 'mirror')).toMatchObject([{ status: 'warning', message: expect.stringContaining(message) }])
  expect(named(checks, 'mirror')[0]?.message).toContain(upstream.url)
})
