import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { nextPort, type Server, startServer } from './processes.ts'
import { checkout, type Registry } from './registry.ts'

/** Recorded response of the registry, for baseline servers to replay. */
export type Recording = { path: string; status: number; headers: Record<string, string>; file: string }

export type Request = { path: string; status?: number; headers?: Record<string, string> }

/** Sends a request to the registry and writes the response body to a file in `folder`. */
export async function record({ url, token }: Registry, { path, headers, status = 200 }: Request, folder: string): Promise<Recording> {
  const answer = await fetch(url + path, { headers: { authorization: `Bearer ${token}`, ...headers } })
  if (answer.status !== status) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  const plain = Buffer.from(await answer.arrayBuffer())
  // fetch has decompressed the body. Compressing it again yields about the size of the original.
  const body = answer.headers.get('content-encoding') === 'gzip' ? gzipSync(plain) : plain
  const file = join(folder, path.slice(1).replaceAll('/', '-'))
  writeFileSync(file, body)
  return { path, status, file, headers: Object.fromEntries([...answer.headers].filter(([name]) => !ofTheMoment.has(name))) }
}

const ofTheMoment = new Set(['date', 'connection', 'keep-alive', 'content-length', 'transfer-encoding'])

/** Starts a Fastify server that only replays the recordings. */
export function startFastify(recordings: Recording[], folder: string): Promise<Server> {
  return startBaseline('fastify', recordings, folder)
}

/** Starts a server that implements only publishing of pub's protocol, with the required writes to disk. */
export async function startBarePublisher(folder: string): Promise<Server> {
  const [data, port] = [join(folder, 'bare-publisher'), nextPort()]
  mkdirSync(data)
  const command = [process.execPath, 'test/bench/baselines/publishing.ts', data, String(port)]
  return startServer({ command, url: `http://127.0.0.1:${port}`, folder, name: 'bare-publisher', cwd: checkout })
}

function startBaseline(name: string, recordings: Recording[], folder: string): Promise<Server> {
  const list = join(folder, 'recordings.json')
  writeFileSync(list, JSON.stringify(recordings))
  const port = nextPort()
  const command = [process.execPath, `test/bench/baselines/${name}.ts`, list, String(port)]
  return startServer({ command, url: `http://127.0.0.1:${port}`, folder, name, cwd: checkout })
}

/** Starts the baseline servers, each in its own process. nginx is null if it is not installed. */
export async function startBaselines(
  recordings: Recording[],
  folder: string,
): Promise<{ fastify: Server; files: Server; nginx: Server | null }> {
  const fastify = await startFastify(recordings, folder)
  return { fastify, files: await startBaseline('files', recordings, folder), nginx: await startNginx(recordings, folder) }
}

async function startNginx(recordings: Recording[], folder: string): Promise<Server | null> {
  const program = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx', '/opt/homebrew/bin/nginx'].find((path) => existsSync(path))
  if (!program) return null
  const port = nextPort()
  const config = join(folder, 'nginx.conf')
  mkdirSync(join(folder, 'nginx'))
  writeFileSync(config, nginxConfig(recordings, folder, port))
  return startServer({
    command: [program, '-c', config, '-e', join(folder, 'nginx/error.log')],
    url: `http://127.0.0.1:${port}`,
    folder,
    name: 'nginx',
  })
}

/** Returns a configuration for a single foreground process that writes only to the folder. */
function nginxConfig(recordings: Recording[], folder: string, port: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/nginx/${kind};`)
  const locations = recordings
    .filter(({ status }) => status === 200)
    .map(({ path, headers, file }) => {
      const { 'content-type': type = '', ...others } = headers
      const lines = Object.entries(others).flatMap(([name, value]) => (name === 'etag' ? [] : [`add_header ${name} "${value}";`]))
      return `location = ${path} { alias ${file}; types {} default_type "${type}"; ${lines.join(' ')} }`
    })
  return `daemon off; master_process off; pid ${folder}/nginx/pid; events { worker_connections 256; }
http {
  access_log ${folder}/nginx/access.log; sendfile on; tcp_nopush on; keepalive_requests 1000000000; open_file_cache max=100;
  ${temporary.join(' ')}
  server { listen 127.0.0.1:${port}; ${locations.join('\n    ')} }
}
`
}
