import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { variables } from '../../../server/config/variables.ts'
import { root } from '../../support/sources.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const manifest = z.object({ version: z.string(), scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')))
const port = variables.LISTEN_PORT.default
const startFlags = /--max\S+(?: --\S+)*/.exec(manifest.scripts.start ?? '')?.[0] ?? ''
const ofNode = ['MALLOC_ARENA_MAX', 'NODE_COMPILE_CACHE']
const unknown = (names: string[]) => names.filter((name) => !(name.replace(/_FILE$/, '') in variables) && !ofNode.includes(name))

describe('Dockerfile', () => {
  const lines = read('Dockerfile').replaceAll('\\\n', ' ').split('\n')
  const of = (instruction: string) =>
    lines.filter((line) => line.startsWith(`${instruction} `)).map((line) => line.slice(instruction.length + 1))

  it('copies and runs what there is', () => {
    const copied = of('COPY').filter((line) => !line.startsWith('--from'))
    const paths = copied.flatMap((line) => line.split(' ').slice(0, -1))
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
    const scripts = of('RUN').flatMap((line) => [...line.matchAll(/npm run (\w+)/g)].map(([, name = '']) => name))
    expect(scripts).toEqual(['package'])
    expect(scripts.filter((name) => !manifest.scripts[name])).toEqual([])
  })

  it('starts the server as npm start does, as an account without rights', () => {
    expect(JSON.parse(of('ENTRYPOINT')[0] ?? '')).toEqual(['node', ...startFlags.split(' '), '/app/snug'])
    expect(unknown(of('ENV').flatMap((line) => [...line.matchAll(/([A-Z_]+)=/g)].map(([, name = '']) => name)))).toEqual([])
    expect([of('USER'), of('EXPOSE')]).toEqual([['1000:1000'], [port]])
    expect(of('HEALTHCHECK')[0]).toContain('["node", "/app/snug", "ready"]')
  })

  it('leaves out of its context what no image may have', () => {
    expect(read('.dockerignore').split('\n')).toEqual(expect.arrayContaining(['.env', '.git', 'data', 'node_modules']))
  })
})

it('compose.yaml has one server, or a cluster behind a proxy', () => {
  const service = z.object({
    profiles: z.array(z.string()),
    environment: z.record(z.string(), z.string()).default({}),
    volumes: z.array(z.string()).default([]),
    depends_on: z.record(z.string(), z.object({ condition: z.literal('service_healthy') })).default({}),
    image: z.string(),
    read_only: z.boolean().optional(),
  })
  const shape = z.object({ services: z.record(z.string(), service), volumes: z.record(z.string(), z.null()) })
  const { services, volumes } = shape.parse(parse(read('compose.yaml'), { merge: true }))
  const named = (profile: string) => Object.keys(services).filter((name) => services[name]?.profiles.includes(profile))
  expect(named('single')).toEqual(['snug'])
  expect(named('cluster')).toEqual(['snug-1', 'snug-2', 'proxy', 'postgres', 's3'])
  for (const { environment, image, read_only, volumes: mounted, depends_on } of Object.values(services)) {
    if (image === 'snug') expect([unknown(Object.keys(environment)), read_only]).toEqual([[], true])
    for (const source of mounted.map((mount) => mount.split(':')[0] ?? ''))
      expect(source.startsWith('./') ? existsSync(join(root, source)) : source in volumes, source).toBe(true)
    for (const name of Object.keys(depends_on)) expect(services).toHaveProperty([name])
  }
  // An empty one is refused by PostgreSQL and by the store, and only the cluster needs them.
  const secrets = Array.from(
    read('compose.yaml').matchAll(/\$\{(\w+(?:PASSWORD|SECRET\w*))(\S*?)\}/g),
    ([, name, rest]) => `${name}${rest}`,
  )
  expect([...new Set(secrets)]).toEqual(['POSTGRES_PASSWORD:-', 'S3_SECRET_ACCESS_KEY:-'])
  const asked = read('server/deploy/Caddyfile').matchAll(/\{\$(\w+)/g)
  expect(Object.keys(services.proxy?.environment ?? {})).toEqual(Array.from(asked, ([, name]) => name))
  expect(services.proxy?.environment.SNUG_INSTANCES).toBe(`snug-1:${port} snug-2:${port}`)
})

describe('kubernetes', () => {
  const probe = (path: string) => z.object({ httpGet: z.object({ path: z.literal(path), port: z.literal('http') }) })
  const container = z.object({
    image: z.literal(`registry.example.com/snug:${manifest.version}`),
    env: z.array(z.object({ name: z.string() })),
    ports: z.tuple([z.object({ name: z.literal('http'), containerPort: z.literal(Number(port)) })]),
    startupProbe: probe('/livez'),
    livenessProbe: probe('/livez'),
    readinessProbe: probe('/readyz'),
    securityContext: z.object({
      allowPrivilegeEscalation: z.literal(false),
      readOnlyRootFilesystem: z.literal(true),
      capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
    }),
    volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
  })
  const pod = z.object({
    containers: z.tuple([container]),
    securityContext: z.object({ runAsNonRoot: z.literal(true), runAsUser: z.literal(1000) }),
    terminationGracePeriodSeconds: z.number(),
  })
  const workload = z.object({ spec: z.object({ template: z.object({ spec: pod }) }) })
  const anything = z.object({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: z.object({ name: z.literal('snug') }),
    spec: z.unknown(),
  })

  it.each(['single', 'cluster', 'ingress'])('%s.yaml says what it should', (name) => {
    const documents = parseAllDocuments(read(`server/deploy/kubernetes/${name}.yaml`)).map((document) => anything.parse(document.toJS()))
    const kinds = { single: 'Service StatefulSet', cluster: 'Service PodDisruptionBudget Deployment', ingress: 'Ingress' }[name]
    expect(documents.map(({ kind }) => kind).join(' ')).toBe(kinds)
    for (const document of documents.filter(({ kind }) => /Set$|Deployment/.test(kind))) {
      const { containers, terminationGracePeriodSeconds } = workload.parse(document).spec.template.spec
      expect(unknown(containers[0].env.map((each) => each.name))).toEqual([])
      expect(containers[0].volumeMounts.map(({ mountPath }) => mountPath)).toEqual(['/data', '/tmp'])
      expect(terminationGracePeriodSeconds * 1000).toBeGreaterThan(Number(variables.DRAIN_TIMEOUT_MS.default) + 5000)
    }
  })
})

it('proxies reach the server, and take as much as it does', () => {
  const least = Number(variables.MAX_UPLOAD_BYTES.default) / 1024 ** 2
  for (const path of ['Caddyfile', 'nginx.conf', 'kubernetes/ingress.yaml']) {
    const [, size] = /(?:max_size|max_body_size|body-size:) (\d+)m/i.exec(read(`server/deploy/${path}`)) ?? []
    expect([path, Number(size) > least]).toEqual([path, true])
  }
  for (const path of ['Caddyfile', 'nginx.conf']) expect(read(`server/deploy/${path}`)).toContain(`127.0.0.1:${port}`)
})

it('the systemd unit starts a package, with known variables', () => {
  const unit = read('server/deploy/snug.service')
  expect(/^ExecStart=\/opt\/snug\/(\S+) start$/m.exec(unit)?.[1]).toBe('snug')
  expect(read('server/launch/snug.mjs').split('\n')[0]).toBe(`#!/usr/bin/env -S MALLOC_ARENA_MAX=1 node ${startFlags}`)
  expect(unknown(Array.from(unit.matchAll(/^Environment=(\w+)/gm), ([, name = '']) => name))).toEqual([])
  expect(unit).toContain('RestartPreventExitStatus=64 78')
})

it('every example is named in the README', () => {
  const examples = globSync('server/deploy/**/*.*', { cwd: root }).concat('server/deploy/Caddyfile', 'Dockerfile', 'compose.yaml')
  const readme = read('README.md')
  expect(examples.filter((path) => !readme.includes(path.replace(/kubernetes\/.*/, 'kubernetes')))).toEqual([])
})
