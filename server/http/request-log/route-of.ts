import type { FastifyRequest } from 'fastify'

/** The pattern of the path that a request matched, such as `/api/packages/:pkg`: there are only so many of them. */
export const routeOf = (request: FastifyRequest): string => (request.is404 ? unmatched : (request.routeOptions.url ?? unmatched))

const unmatched = 'unmatched'
