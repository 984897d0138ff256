import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Creates a token secret: `svc_pat_`, 32 random base62 characters and a checksum of 6 characters, by which secret scanners recognize it. */
export const newSecret = (): string => `svc_pat_${newBody()}`

/** Creates a secret for a job of the server. */
export const newJobSecret = (): string => `svc_job_${newBody()}`

function newBody(): string {
  const body = Array.from({ length: 32 }, () => alphabet[randomInt(62)]).join('')
  return `${body}${checksum(body)}`
}

/** Returns whether the text is a well-formed secret with a valid checksum. Other texts need no database lookup. */
export const isSecret = (text: string): boolean => /^svc_pat_[0-9A-Za-z]{38}$/.test(text) && hasChecksum(text)

/** Returns whether the text is a well-formed secret of a job. */
export const isJobSecret = (text: string): boolean => /^svc_job_[0-9A-Za-z]{38}$/.test(text) && hasChecksum(text)

/** Returns the secret in an Authorization header; '' without one. */
export const parseBearerSecret = (authorization: string): string => /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ''

/** Returns whether an Authorization header belongs to a job, such as an analysis that fetches the dependencies of a package. */
export const isOfJob = (authorization: string | undefined): boolean => {
  // Headers of CI jobs are long, and most headers have another prefix.
  const secret = authorization === undefined ? undefined : /^Bearer +(svc_job_\S{38}) *$/i.exec(authorization)?.[1]
  return secret !== undefined && isJobSecret(secret)
}

/** Returns the first characters of a secret, which may be displayed. */
export const prefixOf = (secret: string): string => secret.slice(0, 12)

/** Returns the displayed characters of the secret in an Authorization header; '' without one. Unlike `parseBearerSecret`, it does not read the whole. */
export const bearerPrefix = (authorization: string): string => /^Bearer +(\S{1,12})/i.exec(authorization)?.[1] ?? ''

const hasChecksum = (text: string) => text.slice(40) === checksum(text.slice(8, 40))

function checksum(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let position = 0; position < 6; position++) {
    text = alphabet[rest % 62] + text
    rest = Math.floor(rest / 62)
  }
  return text
}

/**
 * Accepts an access token as the password of HTTP Basic authentication (RFC 7617), as feed readers need. Only for read-only routes: browsers resend
 * Basic credentials automatically.
 */
export function acceptBasic(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('www-authenticate', 'Basic realm="Access token as the password", charset="UTF-8"')
  const given = /^Basic +([A-Za-z0-9+/]+=*) *$/i.exec(request.headers.authorization ?? '')?.[1]
  if (given === undefined) return
  const [name = '', ...password] = Buffer.from(given, 'base64').toString().split(':')
  request.headers.authorization = `Bearer ${password.join(':') || name}`
}
