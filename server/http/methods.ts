import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { methodNotAllowed, notFound } from '../errors.ts'

/** The methods that endpoints have. HEAD comes with GET. */
export type Method = Extract<HTTPMethods, 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'>

const methods: Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const further = ['OPTIONS', 'TRACE', 'QUERY']

/**
 * Makes a path answer the methods that it does not have with 405 and those that it has, whatever body comes with them. Where `path` is a
 * pattern, `exists` tells whether there is anything at the address of a request.
 */
export function refuseOtherMethods(
  app: FastifyInstance,
  path: string,
  has: readonly Method[],
  exists: (request: FastifyRequest) => boolean = () => true,
): void {
  const allow = has.flatMap((method) => (method === 'GET' ? [method, 'HEAD'] : [method])).join(', ')
  const refuse = async (request: FastifyRequest, reply: FastifyReply): Promise<never> => {
    if (!exists(request)) throw notFound('There is nothing at this address.')
    reply.header('allow', allow)
    throw methodNotAllowed(allow)
  }
  app.route({ method: [...methods.filter((method) => !has.includes(method)), ...further], url: path, onRequest: refuse, handler: refuse })
}
