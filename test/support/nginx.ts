import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { startProxy } from './proxy-process.ts'
import { root } from './sources.ts'

type Options = {
  /** Where the instances listen. */
  instances: string[]
  /** The folder of the archives, which nginx then sends. */
  blobs?: string
  /** The folder of `certificate.pem` and `key.pem`; without it, nginx speaks HTTP. */
  tls?: string
  port?: number
}

/** Starts nginx with the example of server/deploy; returns its port, at 127.0.0.1 and with TLS also at ::1. */
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

/** The example as an operator would change it. */
function example(folder: string, port: number, { instances: [first = '', ...others], blobs, tls }: Omit<Options, 'port'>): string {
  const server = (instance: string) => `server ${new URL(instance).host} max_fails=1 fail_timeout=2s;`
  const changes: Change[] = [
    ['server 127.0.0.1:8080 max_fails=1 fail_timeout=2s;', server(first)],
    ['# server 127.0.0.1:8081 max_fails=1 fail_timeout=2s;', others.map(server).join(' ')],
    ['/var/cache/snug', join(folder, 'cache')],
    ['listen 80;', `listen unix:${folder}/plain;`],
    ['listen [::]:80;', ''],
    ...(tls ? withTls(tls, port) : withoutTls(port)),
    ...(blobs ? sendingArchives(blobs) : []),
  ]
  return changes.reduce(
    (text, [from, to]) => {
      if (typeof from === 'string' ? !text.includes(from) : text.search(from) === -1)
        throw new Error(`server/deploy/nginx.conf has no ${String(from)} any more.`)
      return text.replace(from, to)
    },
    readFileSync(join(root, 'server/deploy/nginx.conf'), 'utf8'),
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

/** The rest of a configuration: one process that writes below the folder only. */
function around(folder: string, http: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/temporary/${kind};`)
  return `daemon off; master_process off; pid ${folder}/pid; events {}
http { access_log off; sendfile on; ${temporary.join(' ')}
${http}
}`
}
