import { z } from 'zod'
import type { Context } from '../../platform/access/context.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { binary } from '../../platform/rest/route.ts'
import { scopes } from '../../platform/access/roles.ts'

const metadata = z.object({
  issuer: z.url(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  response_types_supported: z.array(z.literal('code')),
  response_modes_supported: z.array(z.literal('query')),
  grant_types_supported: z.array(z.literal('authorization_code')),
  code_challenge_methods_supported: z.array(z.literal('S256')),
  token_endpoint_auth_methods_supported: z.array(z.literal('none')),
  scopes_supported: z.array(z.enum(scopes)),
  service_documentation: z.url(),
})

/** Describes the authorization server to clients (RFC 8414). */
export const oauthMetadata = binary('GET /.well-known/oauth-authorization-server', {
  access: 'open',
  anyCredential: true,
  beforeSetup: true,
  summary: 'Metadata of the OAuth authorization server (RFC 8414).',
  handler: async ({ request, reply, config }: Context) => {
    const base = publicUrl(request, config.SERVER_URL)
    return reply
      .type('application/json; charset=utf-8')
      .header('cache-control', 'no-store')
      .send({
        issuer: base,
        authorization_endpoint: `${base}/oauth/authorize`,
        token_endpoint: `${base}/oauth/token`,
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: ['authorization_code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        scopes_supported: scopes,
        service_documentation: `${base}/api/docs`,
      })
  },
  produces: { 200: { description: 'The metadata.', type: 'application/json', schema: metadata } },
})
