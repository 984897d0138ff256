import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { dumpDatabase } from './database-dump.ts'
import { findTexts } from './find-texts.ts'
import type { TestApp } from '../app.ts'

/** Secrets from requests and responses, with their origin. */
export class Secrets {
  private readonly known = new Map<string, string>()

  /** Records a secret. Ignores texts of less than 12 characters, which may occur by chance. */
  add(name: string, secret: unknown): void {
    if (typeof secret === 'string' && secret.length >= 12) this.known.set(secret, name)
  }

  /** Records the secrets of a request and its response: cookies, tokens, codes, invites, generated passwords and accepted passwords. */
  learn({ given, status, headers, body }: Exchange): void {
    if (status < 400) visit(parsed(given), (key, value) => passwordFields.has(key) && this.add(key, value))
    for (const cookie of [headers['set-cookie'] ?? []].flat()) this.add('cookie', /^[^=]+=([^;]*)/.exec(String(cookie))?.[1])
    this.addCode(headers.location)
    for (const [, key] of `${String(headers.location)} ${body}`.matchAll(/upload_key=(\w+)/g)) this.add('upload key', key)
    if (!telling.test(body)) return
    visit(parsed(body), (key, value) => {
      if (secretFields.has(key)) this.add(key, value)
      if (key === 'inviteUrl') this.add(key, String(value).split('/').at(-1))
      if (key === 'redirect_url' || key === 'redirectUrl') this.addCode(value)
    })
  }

  /**
   * Returns the origin of each secret that occurs in the bytes, unchanged or in lower case. The prefix of a token is ignored, because lists show it.
   */
  foundIn(bytes: Buffer): string[] {
    const forms = [...this.known].map(([secret, name]) => {
      const kept = secret.replace(/^svc_pat_.{4}/, '')
      return { name, either: [kept, kept.toLowerCase()] }
    })
    const found = findTexts(
      bytes,
      forms.flatMap(({ either }) => either),
    )
    return forms.filter(({ either }) => either.some((form) => found.has(form))).map(({ name }) => name)
  }

  private addCode(address: unknown): void {
    this.add('authorization code', /[?&]code=([^&]+)/.exec(String(address))?.[1])
  }
}

const passwordFields = new Set(['password', 'newPassword'])
const secretFields = new Set(['secret', 'generatedPassword', 'access_token', 'setupToken'])
const telling = /"(?:secret|generatedPassword|access_token|setupToken|inviteUrl|redirect_?[uU]rl)"/

/** Request and response. `body` is the text of a JSON response, and empty for other responses. */
export type Exchange = {
  method: string
  url: string
  given: unknown
  status: number
  headers: Record<string, string | string[] | number | undefined>
  body: string
}

/** Calls `heard` for every request to this server and its response, whether injected or sent over the network. */
export function observeExchanges(http: FastifyInstance, heard: (exchange: Exchange) => void): void {
  const inject: (request: string | InjectOptions) => Promise<LightMyRequestResponse> = http.inject.bind(http)
  const overheard = async (request: string | InjectOptions) => {
    const answer = await inject(request)
    const { method = 'GET', url, payload: given } = typeof request === 'object' ? request : { url: request }
    const { statusCode: status, headers } = answer
    heard({
      method,
      url: pathOf(url),
      given,
      status,
      headers,
      body: jsonOf(headers, () => answer.body),
    })
    return answer
  }
  Object.assign(http, { inject: overheard })
  http.server.prependListener('request', (request, response) => observeNetwork(request, response, heard))
}

/** Returns the path as the server receives it, with dot segments resolved. */
const pathOf = (url: InjectOptions['url']): string => (typeof url === 'string' ? new URL(url, 'http://localhost') : url)?.pathname ?? ''

/** Records requests and responses as they are read and written, without consuming the streams. */
function observeNetwork(request: IncomingMessage, response: ServerResponse, heard: (exchange: Exchange) => void): void {
  const given: Buffer[] = []
  const emit = request.emit.bind(request)
  if (/json/.test(request.headers['content-type'] ?? ''))
    request.emit = (event: string, ...parts: unknown[]) => {
      if (event === 'data' && Buffer.isBuffer(parts[0])) given.push(parts[0])
      return emit(event, ...parts)
    }
  let headers: Exchange['headers'] = {}
  const [writeHead, end] = [response.writeHead.bind(response), response.end.bind(response)] as [
    (...all: unknown[]) => ServerResponse,
    (...all: unknown[]) => ServerResponse,
  ]
  response.writeHead = (...all: unknown[]) => {
    headers = { ...response.getHeaders(), ...(all.at(-1) as Exchange['headers']) }
    return writeHead(...all)
  }
  response.end = (...all: unknown[]) => {
    const sent = all[0]
    const body = jsonOf(headers, () => (typeof sent === 'string' || Buffer.isBuffer(sent) ? sent.toString() : ''))
    const { method = '', url = '' } = request
    heard({ method, url, given: Buffer.concat(given).toString(), status: response.statusCode, headers, body })
    return end(...all)
  }
}

const jsonOf = (headers: Exchange['headers'], body: () => string) =>
  /\bjson\b/.test(String(headers['content-type'])) && !headers['content-encoding'] ? body() : ''

/** @throws Error with the origin of every secret that occurs in the log or the database, including the audit log. */
export async function assertNoLeaks(app: TestApp, secrets: Secrets): Promise<void> {
  const announced = /^Setup code: (\S+)/
  for (const line of app.lines) secrets.add('setup code', announced.exec(line)?.[1])
  const places = {
    'the log': Buffer.from(app.lines.filter((line) => !announced.test(line)).join('')),
    'the database': await dumpDatabase(app),
  }
  const leaks = Object.entries(places).flatMap(([place, bytes]) => secrets.foundIn(bytes).map((name) => `${name} in ${place}`))
  if (leaks.length > 0) throw new Error(`Secrets were kept: ${leaks.join(', ')}.`)
}

function parsed(body: unknown): unknown {
  if (typeof body !== 'string') return body
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** Calls `found` for every field of an object, at any depth. */
function visit(value: unknown, found: (key: string, value: unknown) => void): void {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return
  for (const [key, part] of Object.entries(value)) {
    found(key, part)
    visit(part, found)
  }
}
