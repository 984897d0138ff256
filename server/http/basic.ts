import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * For clients that can only ask for a name and a password (RFC 7617), such as feed readers: the password is taken as an access token, whatever
 * the name. Browsers send such a password again by themselves, so this is for routes that only read.
 */
export function acceptBasic(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('www-authenticate', 'Basic realm="Access token as the password", charset="UTF-8"')
  const given = /^Basic +([A-Za-z0-9+/]+=*) *$/i.exec(request.headers.authorization ?? '')?.[1]
  if (given === undefined) return
  const [name = '', ...password] = Buffer.from(given, 'base64').toString().split(':')
  request.headers.authorization = `Bearer ${password.join(':') || name}`
}
