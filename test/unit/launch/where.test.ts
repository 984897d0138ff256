import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../support/sources.ts'

/** Runs the script of `npm run where`. Returns its status, its stderr, the file that it prints, and the printed line with the line before. */
function where(wanted: string) {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['server/platform/launch/where.ts', wanted], {
    cwd: root,
    encoding: 'utf8',
  })
  const [, file, line] = /^(\S+\.ts):(\d+)$/m.exec(stdout) ?? []
  const lines = file === undefined ? [] : readFileSync(join(root, file), 'utf8').split('\n')
  const source = lines.slice(Number(line) - 2, Number(line)).join('\n')
  return { file, source, stderr, status }
}

it.each([
  ['PackageVersion.readme', 'server/registry/packages/versions/schema.ts', /readme/],
  ['Mutation.createToken', 'server/accounts/tokens/schema.ts', /createToken/],
  ['GET /api/packages/:pkg', 'server/registry/packages/listing/binary.ts', /GET \/api\/packages\/:pkg'/],
  ['POST /api/auth/keys', 'server/accounts/tokens/rest.ts', /POST \/api\/auth\/keys'/],
])('finds %s', (wanted, file, source) => {
  const found = where(wanted)
  expect(found).toMatchObject({ file, status: 0 })
  expect(found.source).toMatch(source)
})

it('lists the fields of the same name when the type has none', () => {
  expect(where('Package.readme')).toMatchObject({ status: 64, stderr: expect.stringContaining('PackageVersion.readme  server/') })
})

it.each(['Package.nothing', 'GET /api/nothing', ''])('lists what can be named instead of %j', (wanted) => {
  const { status, stderr } = where(wanted)
  expect(status).toBe(64)
  expect(stderr).toContain('Name a GraphQL field (PackageVersion.readme) or an endpoint')
})
