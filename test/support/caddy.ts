import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { startProxy } from './proxy-process.ts'
import { root } from './sources.ts'

type Options = {
  /** Base URLs of the instances. */
  instances: string[]
  /** Serves localhost over HTTPS with a certificate of Caddy's own authority, instead of HTTP. */
  tls?: boolean
  port?: number
}

/** Starts Caddy with the example configuration of the deploy folder. Returns its port on 127.0.0.1 and ::1, and the certificate of its authority. */
export async function startCaddy({ instances, tls = false, port }: Options): Promise<{ port: number; authority: () => string }> {
  const folder = mkdtempSync(join(tmpdir(), 'snug-caddy-'))
  const chosen = port ?? (await freePort())
  // Options that protect the machine: no other ports, and no changes to its list of trusted authorities.
  const options = `admin off\nskip_install_trust\nauto_https disable_redirects\ndefault_bind 127.0.0.1 ::1\nstorage file_system ${folder}`
  const config = join(folder, 'Caddyfile')
  writeFileSync(config, `{\n${options}\n}\nimport ${join(root, 'server/platform/deploy/Caddyfile')}\n`)
  const env = {
    HOME: folder,
    SNUG_SITE: tls ? `localhost:${chosen}` : `:${chosen}`,
    SNUG_INSTANCES: instances.map((instance) => new URL(instance).host).join(' '),
  }
  await startProxy('caddy', ['run', '--config', config, '--adapter', 'caddyfile'], { folder, port: chosen, package: 'caddy', env })
  return { port: chosen, authority: () => readFileSync(join(folder, 'pki/authorities/local/root.crt'), 'utf8') }
}
