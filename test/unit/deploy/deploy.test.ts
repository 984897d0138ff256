import { existsSync, globSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { variables } from '../../../server/platform/config/variables.ts'
import { read, unknownSettings } from '../../support/deployment.ts'
import { root } from '../../support/sources.ts'

const manifest = z.object({ version: z.string(), scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')))
const port = variables.LISTEN_PORT.default
const startFlags = Array.from(read('server/launch.mjs').matchAll(/'(--[a-z0-9-]+=\d+)'/g), ([, flag]) => flag).join(' ')

describe('Dockerfile', () => {
  const lines = read('Dockerfile').replaceAll('\\\n', ' ').split('\n')
  const of = (instruction: string) =>
    lines.filter((line) => line.startsWith(`${instruction} `)).map((line) => line.slice(instruction.length + 1))

  it('copies existing files and runs existing scripts', () => {
    const copied = of('COPY').filter((line) => !line.startsWith('--from'))
    const paths = copied.flatMap((line) => line.split(' ').slice(0, -1))
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
    const scripts = of('RUN').flatMap((line) => [...line.matchAll(/npm run (\w+)/g)].map(([, name = '']) => name))
    expect(scripts).toEqual(['package'])
    expect(scripts.filter((name) => !manifest.scripts[name])).toEqual([])
  })

  it('starts the server as npm start does, as an unprivileged account', () => {
    expect(JSON.parse(of('ENTRYPOINT')[0] ?? '')).toEqual(['node', ...startFlags.split(' '), '/app/snug'])
    expect(unknownSettings(of('ENV').flatMap((line) => [...line.matchAll(/([A-Z_]+)=/g)].map(([, name = '']) => name)))).toEqual([])
    expect([of('USER'), of('EXPOSE')]).toEqual([['1000:1000'], [port]])
  })

  it('checks readiness soon after the start, with options that Docker 20.10 supports', () => {
    const [healthcheck = ''] = of('HEALTHCHECK')
    expect(healthcheck).toContain('CMD ["node", "/app/snug", "ready"]')
    const options = Array.from(healthcheck.matchAll(/--([a-z-]+)=/g), ([, name = '']) => name)
    expect(options).toEqual(['interval', 'timeout', 'start-period', 'retries'])
    // Services that wait for `service_healthy` start after the first health check, so the interval must be short.
    expect(Number(/--interval=(\d+)s/.exec(healthcheck)?.[1])).toBeLessThanOrEqual(5)
  })

  it('contains bubblewrap for the architecture of the image', () => {
    const run = of('RUN').find((line) => line.includes('bubblewrap')) ?? ''
    expect(run).toContain('apt-get download "bubblewrap:$TARGETARCH"')
    const [, folder] = /--extract \S+ (\S+)/.exec(run) ?? []
    expect(of('COPY')).toContain(`--from=build ${folder} /`)
    expect(lines.indexOf('ARG TARGETARCH')).toBeLessThan(lines.findIndex((line) => line.includes('$TARGETARCH')))
  })

  it('has a data folder that only its account can access', () => {
    const made = of('RUN').join(' ')
    expect(made).toContain('install --directory --owner=1000 --group=1000 --mode=0700 /image/data')
    // Builders differ in whether --chmod and --chown of COPY apply to the copied folder itself.
    expect(of('COPY').filter((line) => /--ch(mod|own)/.test(line))).toEqual([])
    expect(of('COPY')).toContain('--from=build /image /')
  })

  it('runs no commands in the final image, which may be for another architecture', () => {
    const last = lines.findLastIndex((line) => line.startsWith('FROM '))
    expect(lines.slice(last).filter((line) => line.startsWith('RUN '))).toEqual([])
  })

  it('excludes secrets, data and dependencies from the build context', () => {
    expect(read('.dockerignore').split('\n')).toEqual(expect.arrayContaining(['.env', '.git', 'data', 'node_modules']))
  })
})

it('has proxy examples that reach the server and accept the same upload size', () => {
  const least = Number(variables.MAX_UPLOAD_BYTES.default) / 1024 ** 2
  for (const path of ['Caddyfile', 'nginx.conf', 'kubernetes/ingress.yaml']) {
    const [, size] = /(?:max_size|max_body_size|body-size:) (\d+)m/i.exec(read(`server/platform/deploy/${path}`)) ?? []
    expect([path, Number(size) > least]).toEqual([path, true])
  }
  for (const path of ['Caddyfile', 'nginx.conf']) expect(read(`server/platform/deploy/${path}`)).toContain(`127.0.0.1:${port}`)
})

it('has a systemd unit that starts a package with known variables', () => {
  const unit = read('server/platform/deploy/snug.service')
  expect(/^ExecStart=\/opt\/snug\/(\S+) start$/m.exec(unit)?.[1]).toBe('snug')
  expect(read('server/platform/launch/snug.mjs').split('\n')[0]).toBe(`#!/usr/bin/env -S MALLOC_ARENA_MAX=1 node ${startFlags}`)
  expect(unknownSettings(Array.from(unit.matchAll(/^Environment=(\w+)/gm), ([, name = '']) => name))).toEqual([])
  expect(unit).toContain('RestartPreventExitStatus=64 78')
})

it('mentions every example in the help pages and in server/platform/deploy/README.md', () => {
  const files = globSync('server/platform/deploy/**/*.*', { cwd: root, exclude: ['**/*.md'] })
  const examples = files.concat('server/platform/deploy/Caddyfile', 'Dockerfile', 'compose.yaml')
  const pages = globSync('web/help/*.md', { cwd: root }).map(read).join('\n')
  expect(examples.filter((path) => !pages.includes(path.replace(/kubernetes\/.*/, 'kubernetes')))).toEqual([])
  const overview = read('server/platform/deploy/README.md')
  expect(examples.filter((path) => !overview.includes(`](${relative('server/platform/deploy', path)})`))).toEqual([])
})
