import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import { csrfIn } from './support/cookies.ts'
import { checkErrorCodes } from './support/error-codes.ts'

type Person = { id: string; email: string; displayName: string }
type Identity = { user?: Person; secret?: string; cookies?: Record<string, string>; ip?: string }
type Options = { headers?: Record<string, string>; ip?: string }

/** HTTP response as tests see it. `body` is the parsed JSON, or the text. */
export type Answer = {
  status: number
  headers: LightMyRequestResponse['headers']
  // oxlint-disable-next-line typescript/no-explicit-any -- tests compare it with what they expect
  body: any
  raw: Buffer
  cookies: LightMyRequestResponse['cookies']
}

/** Test client that sends requests with a token, with session cookies or without credentials. */
export class Actor {
  readonly secret: string | undefined
  readonly ip: string
  private readonly http: FastifyInstance
  private readonly identity: Identity

  constructor(http: FastifyInstance, identity: Identity = {}) {
    this.http = http
    this.identity = identity
    this.secret = identity.secret
    this.ip = identity.ip ?? '203.0.113.1'
  }

  get user(): Person {
    if (!this.identity.user) throw new Error('This actor has no user.')
    return this.identity.user
  }
  get id(): string {
    return this.user.id
  }
  get email(): string {
    return this.user.email
  }
  get cookies(): Record<string, string> {
    return { ...this.identity.cookies }
  }
  get csrf(): string {
    return csrfIn(this.identity.cookies)
  }

  /** Signs in with the default password of the factories and returns an actor that uses the session cookies. */
  async session(password = 'correct horse'): Promise<Actor> {
    const answer = await this.send('POST', '/api/auth/login', { email: this.email, password })
    if (answer.status !== 200) throw new Error(`Cannot sign in: ${JSON.stringify(answer.body)}`)
    const cookies = Object.fromEntries(answer.cookies.map(({ name, value }) => [name, value]))
    return new Actor(this.http, { user: this.user, cookies, ip: this.ip })
  }

  /** Returns an actor with the same identity that sends its requests to another instance. */
  at = ({ http }: { http: FastifyInstance }): Actor => new Actor(http, this.identity)

  get = (url: string, options?: Options): Promise<Answer> => this.send('GET', url, undefined, options)
  head = (url: string, options?: Options): Promise<Answer> => this.send('HEAD', url, undefined, options)
  post = (url: string, body?: unknown, options?: Options): Promise<Answer> => this.send('POST', url, body, options)
  put = (url: string, body?: unknown, options?: Options): Promise<Answer> => this.send('PUT', url, body, options)
  patch = (url: string, body?: unknown, options?: Options): Promise<Answer> => this.send('PATCH', url, body, options)
  delete = (url: string, options?: Options): Promise<Answer> => this.send('DELETE', url, undefined, options)
  graphql = async (query: string, variables: object = {}, options?: Options): Promise<Answer> => {
    const answer = await this.send('POST', '/graphql', { query, variables }, options)
    checkErrorCodes(query, answer.body?.errors)
    return answer
  }

  /** Sends a request. Objects are sent as JSON, strings and buffers unchanged. */
  async send(
    method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS',
    url: string,
    body?: unknown,
    options: Options = {},
  ): Promise<Answer> {
    const { secret, cookies } = this.identity
    const request: InjectOptions = {
      method,
      url,
      remoteAddress: options.ip ?? this.ip,
      headers: {
        ...(secret && { authorization: `Bearer ${secret}` }),
        ...(cookies && {
          cookie: Object.entries(cookies)
            .map(([name, value]) => `${name}=${value}`)
            .join('; '),
          'x-csrf-token': csrfIn(cookies),
        }),
        ...options.headers,
      },
      ...(body !== undefined && { payload: body as InjectOptions['payload'] & object }),
    }
    return readAnswer(await this.http.inject(request))
  }
}

function readAnswer(response: LightMyRequestResponse): Answer {
  const { statusCode, headers, rawPayload, cookies } = response
  const isJson = /\bjson\b/.test(headers['content-type'] ?? '') && !headers['content-encoding']
  return { status: statusCode, headers, body: isJson && response.body ? response.json() : response.body, raw: rawPayload, cookies }
}

/** Returns the status codes in ascending order, for requests that race. */
export const statuses = (answers: Answer[]): number[] => answers.map(({ status }) => status).toSorted((a, b) => a - b)
