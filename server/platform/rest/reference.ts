import type { FastifyInstance } from 'fastify'
import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql'
import { compressText } from '../http/caching/compression.ts'
import { publicUrl } from '../http/public-url.ts'
import type { Services } from '../../services.ts'
import { describeRoutes, type RouteGroup } from './openapi.ts'
import { rejectOtherMethods } from '../http/methods.ts'

/** Serves the OpenAPI document and the GraphQL schema below `/api/docs`. The REST reference at this path is a page of the console. */
export function mountReference(app: FastifyInstance, { config }: Services, schema: GraphQLSchema, groups: readonly RouteGroup[]): void {
  const texts = new Map<string, string>()
  let printed: string | undefined
  app.get('/api/docs/openapi.json', { onSend: compressText }, async (request, reply) => {
    const here = publicUrl(request, config.SERVER_URL)
    const text = texts.get(here) ?? JSON.stringify(describeRoutes(schema, groups, here))
    texts.set(here, text)
    return reply.type('application/json; charset=utf-8').send(text)
  })
  app.get('/api/docs/schema.graphql', { onSend: compressText }, async (_request, reply) =>
    reply.type('text/plain; charset=utf-8').send((printed ??= `${printSchema(lexicographicSortSchema(schema))}\n`)),
  )
  for (const path of ['openapi.json', 'schema.graphql']) rejectOtherMethods(app, `/api/docs/${path}`, ['GET'])
}
