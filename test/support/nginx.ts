import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { startProxy } from './proxy-process.ts'
import { root } from './sources.ts'

type Options = {
  /** Base URLs of the instances. */
  instances: string[]
  /** Folder of the blob store. If given, nginx sends archives itself. */
  blobs?: string
  /** Folder with `certificate.pem` and `key.pem`. Without it, nginx uses HTTP. */
  tls?: string
  port?: number
}

/** Starts nginx with the example configuration of the deploy folder. Returns its port on 127.0.0.1, and with TLS also on ::1. */
export async function startNginx({ port, ...options }: Options): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'snug-nginx-'))
  const chosen = port ?? (await freePort())
  mkdirSync(join(folder, 'temporary'))
  writeFileSync(join(folder, 'nginx.conf'), around(folder, example(folder, chosen, options)))
  await startProxy('nginx', ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')], {
    folder,
    port: chosen,
    package: 'nginx-light',
  })
  return chosen
}

type Change = [from: string | RegExp, to: string]

/** Returns the example configuration with the changes an operator would make. */
function example(folder: string, port: number, { instances: [first = '', ...others], blobs, tls }: Omit<Options, 'port'>): string {
  const server = (instance: string) => `server ${new URL(instance).host} max_fails=1 fail_timeout=2s;`
  const changes: Change[] = [
    ['server 127.0.0.1:8080 max_fails=1 fail_timeout=2s;', server(first)],
    ['# server 127.0.0.1:8081 max_fails=1 fail_timeout=2s;', others.map(server).join(' ')],
    ['/var/cache/nginx-snug', join(folder, 'cache')],
    ['listen 80;', `listen unix:${folder}/plain;`],
    ['listen [::]:80;', ''],
    ...(tls ? withTls(tls, port) : withoutTls(port)),
    ...(blobs ? sendingArchives(blobs) : []),
  ]
  return changes.reduce(
    (text, [from, to]) => {
      if (typeof from === 'string' ? !text.includes(from) : text.search(from) === -1)
        throw new Error(`server/platform/deploy/nginx.conf has no ${String(from)} any more.`)
      return text.replace(from, to)
    },
    readFileSync(join(root, 'server/platform/deploy/nginx.conf'), 'utf8'),
  )
}

const withTls = (folder: string, port: number): Change[] => [
  ['listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`],
  ['listen [::]:443 ssl http2;', `listen [::1]:${port} ssl http2;`],
  ['/etc/ssl/snug/fullchain.pem', join(folder, 'certificate.pem')],
  ['/etc/ssl/snug/privkey.pem', join(folder, 'key.pem')],
]

const withoutTls = (port: number): Change[] => [
  ['listen 443 ssl http2;', `listen 127.0.0.1:${port};`],
  ['listen [::]:443 ssl http2;', ''],
  [/^ *ssl_certificate.*\n/gm, ''],
]

const sendingArchives = (blobs: string): Change[] => [
  [/^ {4}#(?=\S| {4})/gm, '    '],
  ['/var/lib/snug/blobs', blobs],
]

/** Completes a configuration so that nginx runs as a single process and writes only to the folder. */
function around(folder: string, http: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/temporary/${kind};`)
  return `daemon off; master_process off; pid ${folder}/pid; events {}
http { access_log off; sendfile on; ${temporary.join(' ')}
${http}
}`
}
