import type { FastifyRequest } from 'fastify'
import { isSecure } from './cookies.ts'

/** SERVER_URL as this client reaches it: https when a trusted proxy says so, whatever the configuration says (decisions §4). */
export const publicUrl = (request: FastifyRequest, serverUrl: string): string =>
  isSecure(request, serverUrl) ? serverUrl.replace(/^http:/, 'https:') : serverUrl
