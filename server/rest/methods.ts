import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { methodNotAllowed } from '../errors.ts'
import type { Method } from './route.ts'

const methods: Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Makes a path answer the methods that it does not have with 405 and those that it has (decisions §1), whatever body comes with them. */
export function refuseOtherMethods(app: FastifyInstance, path: string, has: readonly Method[]): void {
  const allow = has.flatMap((method) => (method === 'GET' ? [method, 'HEAD'] : [method])).join(', ')
  const refuse = async (_request: FastifyRequest, reply: FastifyReply): Promise<never> => {
    reply.header('allow', allow)
    throw methodNotAllowed(allow)
  }
  app.route({ method: [...methods.filter((method) => !has.includes(method)), 'OPTIONS'], url: path, onRequest: refuse, handler: refuse })
}
