// The part of oidc-provider that the tests use. The package has no type declarations.
declare module 'oidc-provider' {
  import type { EventEmitter } from 'node:events'
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

  type Grant = { addOIDCScope(scope: string): void; save(): Promise<string> }

  export class Provider extends EventEmitter {
    constructor(issuer: string, configuration: Record<string, unknown>)
    readonly Client: { prototype: { redirectUriAllowed: (uri: string) => boolean; postLogoutRedirectUriAllowed: (uri: string) => boolean } }
    readonly Grant: new (of: { accountId: string; clientId: string }) => Grant
    callback(): RequestListener
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
  }
}
