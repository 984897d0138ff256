import type { FastifyRequest } from 'fastify'

/** Returns the route pattern of a request, such as `/api/packages/:pkg`. The number of patterns is bounded, so they can be used as metric labels. */
export const routeOf = (request: FastifyRequest): string => (request.is404 ? unmatched : (request.routeOptions.url ?? unmatched))

const unmatched = 'unmatched'
