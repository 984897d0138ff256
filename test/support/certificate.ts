import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A self-signed certificate. `file` can be the value of NODE_EXTRA_CA_CERTS. */
export type Certificate = { file: string; cert: Buffer; key: Buffer }

/** Creates a certificate for host names and 127.0.0.1, which is removed after the test. */
export function certificateFor(...hosts: string[]): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'snug-certificate-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [file, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const names = ['IP:127.0.0.1', ...hosts.map((host) => `DNS:${host}`)].join(',')
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=test']
  execFileSync('openssl', [...request, '-addext', `subjectAltName=${names}`, '-keyout', key, '-out', file], { stdio: 'pipe' })
  return { file, cert: readFileSync(file), key: readFileSync(key) }
}
