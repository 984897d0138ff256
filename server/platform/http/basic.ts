import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * Accepts an access token as the password of HTTP Basic authentication (RFC 7617), with any user name. Some clients, such as feed readers, support
 * nothing else. Use only for read-only routes: browsers resend Basic credentials automatically.
 */
export function acceptBasic(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('www-authenticate', 'Basic realm="Access token as the password", charset="UTF-8"')
  const given = /^Basic +([A-Za-z0-9+/]+=*) *$/i.exec(request.headers.authorization ?? '')?.[1]
  if (given === undefined) return
  const [name = '', ...password] = Buffer.from(given, 'base64').toString().split(':')
  request.headers.authorization = `Bearer ${password.join(':') || name}`
}
