import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { startCollector } from '../support/collector.ts'
import { plain } from '../support/pictures.ts'
import { PubClient } from '../support/pub-client.ts'
import { freePort } from '../support/free-port.ts'
import { folderForTest, json, launch, ownersToken } from '../support/server-process.ts'
import { root } from '../support/sources.ts'

const { version, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string
  dependencies: Record<string, string>
}

/** Builds the release package and unpacks it, with a PATH that contains only Node. */
function unpackPackage() {
  const [made, machine] = [folderForTest(), folderForTest()]
  execFileSync(process.execPath, ['server/platform/launch/package.ts', '--into', made], { cwd: root, stdio: 'pipe' })
  const archive = readdirSync(made).find((name) => name.endsWith('.tar.gz')) ?? ''
  execFileSync('tar', ['-xzf', join(made, archive), '-C', machine])
  const [bin, data] = [join(machine, 'bin'), join(machine, 'data')]
  for (const folder of [bin, data]) mkdirSync(folder)
  symlinkSync(process.execPath, join(bin, 'node'))
  return { snug: join(machine, archive.replace('.tar.gz', ''), 'snug'), bin, data, archiveBytes: statSync(join(made, archive)).size }
}

it('builds a package that runs with only Node installed and contains all files loaded on demand', async () => {
  const { snug, bin, data, archiveBytes } = unpackPackage()
  expect(archiveBytes).toBeLessThan(40e6)
  const port = String(await freePort())
  const collector = await startCollector()
  const env = { PATH: bin, LISTEN_PORT: port, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
  const call = (...args: string[]) => execFileSync(snug, args, { cwd: data, env, encoding: 'utf8' })
  expect(call('version')).toBe(`${version}\n`)
  expect(call('admin', 'help')).toContain('Usage: snug admin <command>')
  expect(() => call('ready')).toThrow(/No response from http:\/\/localhost:/)

  const licenses = readFileSync(join(dirname(snug), 'THIRD_PARTY_LICENSES'), 'utf8')
  const packages = [...Object.keys(dependencies), 'vue-router', 'reka-ui', `@img/sharp-libvips-${process.platform}-${process.arch}`]
  expect(packages.filter((name) => !new RegExp(`^${name} \\d.* \\(.+\\)$`, 'm').test(licenses))).toEqual([])

  const server = await launch([snug], `http://localhost:${port}`, { env, cwd: data })
  expect(server.log()).toContain('Created .env with JWT_SECRET and SERVER_URL')
  expect(JSON.parse(call('ready'))).toMatchObject({ status: 'ok' })
  expect((await json(`${server.url}/api/v1/version`)).body).toEqual({ version })
  const token = await ownersToken(server)
  const headers = { authorization: `Bearer ${token}` }
  const pub = new PubClient({ hostedUrl: server.url, address: server.url, token })
  const archive = await packageArchive({
    name: 'acme',
    version: '1.0.0',
    files: { 'README.md': '# **Good**', 'lib/acme.dart': 'int two() => 2;' },
  })
  await pub.publish(archive)
  expect(await pub.download('acme', '1.0.0')).toEqual(archive)

  // These requests use worker threads, child processes, native code and files that are loaded on demand.
  const ask = async (query: string) => JSON.stringify((await json(`${server.url}/graphql`, { query }, headers)).body)
  expect(await ask('{ package(name: "acme") { latest { readme { html } } } }')).toContain('<strong>Good</strong>')
  const report = `${server.url}/api/packages/acme/versions/1.0.0/scoring-report`
  await expect.poll(async () => (await json(report, undefined, headers)).body, { timeout: 30_000 }).toMatchObject({ status: 'completed' })
  const picture = new FormData()
  picture.set(
    'file',
    new Blob([new Uint8Array(await plain({ width: 20, height: 10 }).png().toBuffer())], { type: 'image/png' }),
    'picture.png',
  )
  expect((await fetch(`${server.url}/api/auth/avatar`, { method: 'POST', body: picture, headers })).status).toBe(200)
  for (const path of ['/', '/api/docs', '/api/docs/openapi.json', '/api/legal/privacy', '/documentation/-/docs.css'])
    expect([path, (await fetch(server.url + path, { headers })).status]).toEqual([path, 200])
  expect(call('admin', 'reset-password', 'olive@example.com')).toContain('New password of olive@example.com')

  server.process.kill('SIGTERM')
  expect(await server.exit).toBe(0)
  expect(existsSync(join(data, 'data/registry.sqlite'))).toBe(true)
  // The server also exported the traces of its last seconds.
  expect(collector.bodies.join('')).toContain('/documentation/-/docs.css')
})
