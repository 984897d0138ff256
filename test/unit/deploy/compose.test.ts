import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { readConfig } from '../../../server/platform/config/config.ts'
import { variables } from '../../../server/platform/config/variables.ts'
import { read, secretValue, unknownSettings } from '../../support/deployment.ts'
import { root } from '../../support/sources.ts'

const service = z.object({
  profiles: z.array(z.string()),
  environment: z.record(z.string(), z.string()).default({}),
  env_file: z.array(z.object({ path: z.string(), required: z.literal(false) })).default([]),
  volumes: z.array(z.string()).default([]),
  depends_on: z.record(z.string(), z.object({ condition: z.literal('service_healthy') })).default({}),
  image: z.string(),
  read_only: z.boolean().default(false),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
  secrets: z.array(z.string()).default([]),
  healthcheck: z.record(z.string(), z.unknown()).default({}),
})
const { services, volumes, secrets } = z
  .object({
    services: z.record(z.string(), service),
    volumes: z.record(z.string(), z.null()),
    secrets: z.record(z.string(), z.record(z.string(), z.unknown())).default({}),
  })
  .parse(parse(read('compose.yaml'), { merge: true }))
const all = Object.entries(services)
const servers = all.filter(([, { image }]) => image === 'snug')
const instances = servers.filter(([, { profiles }]) => profiles.includes('cluster')).map(([, { environment }]) => environment)

/** Replaces `${NAME:-default}` as Compose does. */
const interpolate = (values: Record<string, string>, given: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      value.replace(/\$\{(\w+):-(.*?)\}/g, (_, variable: string, otherwise: string) => given[variable] ?? otherwise),
    ]),
  )

describe('compose.yaml', () => {
  it('has one server, or a cluster behind a proxy', () => {
    const named = (profile: string) => all.filter(([, { profiles }]) => profiles.includes(profile)).map(([name]) => name)
    expect(named('single')).toEqual(['snug'])
    expect(named('cluster')).toEqual(['snug-1', 'snug-2', 'proxy', 'postgres', 's3'])
    for (const [name, { depends_on, volumes: mounted }] of all) {
      for (const source of mounted.map((mount) => mount.split(':')[0] ?? ''))
        expect(source.startsWith('./') ? existsSync(join(root, source)) : source in volumes, `${name}: ${source}`).toBe(true)
      for (const other of Object.keys(depends_on)) expect(services).toHaveProperty([other])
    }
  })

  it('runs the server without privileges on a read-only file system, with settings from .env', () => {
    expect(servers.map(([name]) => name)).toEqual(['snug', 'snug-1', 'snug-2'])
    for (const [name, { read_only, cap_drop, security_opt, env_file, environment }] of servers) {
      expect({ name, read_only, cap_drop, security_opt }).toEqual({
        name,
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      })
      expect(env_file).toEqual([{ path: '.env', required: false }])
      expect(unknownSettings(Object.keys(environment))).toEqual([])
    }
  })

  it('gives read-only services only secrets that are mounted as files', () => {
    const given = all.filter(([, { read_only }]) => read_only).flatMap(([name, each]) => each.secrets.map((secret) => ({ name, secret })))
    expect(given.filter(({ secret }) => secrets[secret]?.file === undefined)).toEqual([])
  })

  it('uses only health check options that Docker before version 25 supports', () => {
    for (const [name, { healthcheck }] of all) expect([name, 'start_interval' in healthcheck]).toEqual([name, false])
  })

  it('gives all instances of the cluster the same valid settings', () => {
    expect(instances).toHaveLength(2)
    expect(instances[0]).toEqual(instances[1])
    const names = ['JWT_SECRET', 'POSTGRES_PASSWORD', 'S3_SECRET_ACCESS_KEY']
    const given = Object.fromEntries(names.map((name) => [name, secretValue(name)]))
    for (const environment of instances) {
      const config = readConfig({ DATA_DIR: '/data', ...interpolate(environment, given) })
      expect(config).toMatchObject({ JWT_SECRET: given.JWT_SECRET, DB_BACKEND: 'postgres', BLOB_BACKEND: 's3' })
    }
  })

  it('requires JWT_SECRET for instances of the cluster, and generates none', () => {
    for (const environment of instances) {
      // The server refuses to start with an empty value. Without the variable, each instance would generate its own key.
      expect(interpolate(environment, {})).toMatchObject({ JWT_SECRET: '' })
      expect(() => readConfig({ DATA_DIR: '/data', ...interpolate(environment, {}) })).toThrow('JWT_SECRET: is required')
    }
  })

  it('has an empty default for each secret, which PostgreSQL and the store reject', () => {
    const asked = read('compose.yaml').matchAll(/\$\{(\w+(?:PASSWORD|SECRET\w*))(\S*?)\}/g)
    const found = new Set(Array.from(asked, ([, name, rest]) => `${name}${rest}`))
    expect([...found]).toEqual(['JWT_SECRET:-', 'POSTGRES_PASSWORD:-', 'S3_SECRET_ACCESS_KEY:-'])
  })

  it('configures the proxy with the addresses of the instances', () => {
    const asked = read('server/platform/deploy/Caddyfile').matchAll(/\{\$(\w+)/g)
    expect(Object.keys(services.proxy?.environment ?? {})).toEqual(Array.from(asked, ([, name]) => name))
    const port = variables.LISTEN_PORT.default
    expect(services.proxy?.environment.SNUG_INSTANCES).toBe(`snug-1:${port} snug-2:${port}`)
  })
})

describe('compose.sandbox.yaml', () => {
  it('enables bubblewrap with the required options on every server', () => {
    const change = z.object({ environment: z.record(z.string(), z.string()), security_opt: z.array(z.string()) })
    const { services: changed } = z
      .object({ services: z.record(z.string(), change) })
      .parse(parse(read('server/platform/deploy/compose.sandbox.yaml'), { merge: true }))
    expect(Object.keys(changed)).toEqual(servers.map(([name]) => name))
    for (const { environment, security_opt } of Object.values(changed)) {
      expect(environment).toEqual({ SCORING_SANDBOX: 'bwrap' })
      expect(security_opt).toEqual(['seccomp=server/platform/deploy/seccomp.json', 'systempaths=unconfined', 'apparmor=unconfined'])
    }
  })

  it('has a seccomp profile that allows namespaces and mounts, and denies unneeded system calls', () => {
    const rule = z.object({ names: z.array(z.string()), action: z.literal('SCMP_ACT_ERRNO'), args: z.array(z.unknown()).optional() })
    const profile = z
      .object({ defaultAction: z.literal('SCMP_ACT_ALLOW'), syscalls: z.array(rule) })
      .parse(JSON.parse(read('server/platform/deploy/seccomp.json')))
    const denied = profile.syscalls.filter(({ args }) => args === undefined).flatMap(({ names }) => names)
    expect(denied).toEqual(denied.toSorted())
    expect(denied).toEqual(
      expect.arrayContaining(['bpf', 'init_module', 'io_uring_setup', 'kexec_load', 'keyctl', 'perf_event_open', 'setns']),
    )
    for (const needed of ['clone', 'clone3', 'unshare', 'mount', 'umount2', 'pivot_root']) expect(denied).not.toContain(needed)
  })
})
