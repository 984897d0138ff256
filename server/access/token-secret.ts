import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** A new token secret: `svc_pat_`, 32 random base62 characters, 6 of checksum, so that scanners know a real one. */
export const newSecret = (): string => `svc_pat_${newBody()}`

/** A new secret for a job of the server's own. */
export const newJobSecret = (): string => `svc_job_${newBody()}`

function newBody(): string {
  const body = Array.from({ length: 32 }, () => alphabet[randomInt(62)]).join('')
  return `${body}${checksum(body)}`
}

/** Whether the text has the form of our secrets, its checksum included: nothing else is looked up. */
export const isSecret = (text: string): boolean => /^svc_pat_[0-9A-Za-z]{38}$/.test(text) && hasChecksum(text)

/** Whether the text has the form of the secret of a job. */
export const isJobSecret = (text: string): boolean => /^svc_job_[0-9A-Za-z]{38}$/.test(text) && hasChecksum(text)

/** The secret in an Authorization header; '' when there is none. */
export const secretIn = (authorization: string): string => /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ''

/** Whether an Authorization header is of a job: an analysis that fetches what a package depends on. */
export const isOfJob = (authorization: string | undefined): boolean => authorization !== undefined && isJobSecret(secretIn(authorization))

/** What is shown of a secret: its first characters. */
export const shownOf = (secret: string): string => secret.slice(0, 12)

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
