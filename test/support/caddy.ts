import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { startProxy } from './proxy-process.ts'
import { root } from './sources.ts'

type Options = {
  /** Where the instances listen. */
  instances: string[]
  /** Serve localhost with a certificate of its own, in place of HTTP. */
  tls?: boolean
  port?: number
}

/** Starts Caddy with the example of server/deploy as it is; returns its port at 127.0.0.1 and ::1, and the certificate of its authority. */
export async function startCaddy({ instances, tls = false, port }: Options): Promise<{ port: number; authority: () => string }> {
  const folder = mkdtempSync(join(tmpdir(), 'snug-caddy-'))
  const chosen = port ?? (await freePort())
  // What is the machine's: the test takes no other port, and leaves the machine's list of authorities alone.
  const options = `admin off\nskip_install_trust\nauto_https disable_redirects\ndefault_bind 127.0.0.1 ::1\nstorage file_system ${folder}`
  const config = join(folder, 'Caddyfile')
  writeFileSync(config, `{\n${options}\n}\nimport ${join(root, 'server/deploy/Caddyfile')}\n`)
  const env = {
    HOME: folder,
    SNUG_SITE: tls ? `localhost:${chosen}` : `:${chosen}`,
    SNUG_INSTANCES: instances.map((instance) => new URL(instance).host).join(' '),
  }
  await startProxy('caddy', ['run', '--config', config, '--adapter', 'caddyfile'], { folder, port: chosen, package: 'caddy', env })
  return { port: chosen, authority: () => readFileSync(join(folder, 'pki/authorities/local/root.crt'), 'utf8') }
}
