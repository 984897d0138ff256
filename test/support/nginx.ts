import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { freePort } from './free-port.ts'
import { root } from './sources.ts'

/** What is set otherwise than in the example: where the instance listens and, for nginx to send its archives, their folder. */
type Options = { instance: string; blobs?: string }

/** Starts nginx with the example of server/deploy, without TLS; gives its address. */
export async function startNginx({ instance, blobs }: Options): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'snug-nginx-'))
  const port = await freePort()
  mkdirSync(join(folder, 'temporary'))
  writeFileSync(join(folder, 'nginx.conf'), around(folder, example(folder, port, { instance, ...(blobs && { blobs }) })))
  const command = ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')]
  const nginx = spawn('nginx', command, { stdio: 'ignore', env: { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` } })
  const ended = once(nginx, 'close')
  onTestFinished(async () => {
    nginx.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  const address = `http://127.0.0.1:${port}`
  await Promise.race([untilAnswers(address), ended.then(() => failed(folder))])
  return address
}

/** The example as an operator would change it. */
function example(folder: string, port: number, { instance, blobs }: Options): string {
  const changes: [string | RegExp, string][] = [
    ['server 127.0.0.1:8080', `server ${new URL(instance).host}`],
    ['/var/cache/snug', join(folder, 'cache')],
    ['listen 80;', `listen unix:${folder}/plain;`],
    ['listen 443 ssl;', `listen 127.0.0.1:${port};`],
    [/^ *ssl_certificate.*\n/gm, ''],
    ...(blobs
      ? ([
          [/^ {4}#(?=\S| {4})/gm, '    '],
          ['/var/lib/snug/blobs', blobs],
        ] as [string | RegExp, string][])
      : []),
  ]
  return changes.reduce(
    (text, [from, to]) => {
      if (text.search(from) === -1) throw new Error(`server/deploy/nginx.conf has no ${String(from)} any more.`)
      return text.replace(from, to)
    },
    readFileSync(join(root, 'server/deploy/nginx.conf'), 'utf8'),
  )
}

/** The rest of a configuration: one process that writes below the folder only. */
function around(folder: string, http: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/temporary/${kind};`)
  return `daemon off; master_process off; pid ${folder}/pid; events {}
http { access_log off; sendfile on; ${temporary.join(' ')}
${http}
}`
}

async function untilAnswers(address: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${address}/livez`).catch(() => null)
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

function failed(folder: string): never {
  throw new Error(`nginx ended: ${readFileSync(join(folder, 'error.log'), 'utf8')}`)
}
