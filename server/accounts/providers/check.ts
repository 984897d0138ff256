import type { Context } from '../../platform/access/context.ts'
import { type AttemptFailure, type Client, explainFailure, openClient, readKeys } from './client.ts'
import { type Provider, recordOutcome } from './providers.ts'

export type Checked = { isUsable: boolean; findings: string[] }

/** Reads the metadata and the keys of a provider, and returns what is wrong or missing. Records a failure of the provider. */
export async function checkProvider(context: Context, provider: Provider): Promise<Checked> {
  const { failure, findings, error } = await examineProvider(context, provider)
  if (error?.isFaultOfProvider) await recordOutcome(context, provider.name, error.message)
  return failure === null ? { isUsable: true, findings } : { isUsable: false, findings: [failure] }
}

type Examined = { failure: string | null; findings: string[]; error?: AttemptFailure }

/** Reads the metadata and the keys of a provider, and returns why it cannot be used, or else what probably does not work as intended. */
export async function examineProvider(services: Parameters<typeof openClient>[0], provider: Provider): Promise<Examined> {
  try {
    const client = await openClient(services, provider)
    const { keys } = await readKeys(client)
    if (keys.length === 0)
      return { failure: 'The provider publishes no keys (jwks_uri), so its ID tokens cannot be verified.', findings: [] }
    return { failure: null, findings: hints(client, provider) }
  } catch (error) {
    const failure = explainFailure(error, 'provider_failed')
    const what = failure.code === 'provider_unreachable' ? 'The provider does not answer' : 'The metadata of the provider cannot be used'
    return { failure: `${what}: ${failure.message}`, findings: [], error: failure }
  }
}

/** Returns what works, but probably not as intended. */
function hints(client: Client, { scopes, groupsClaim }: Provider): string[] {
  const metadata = client.serverMetadata()
  const { scopes_supported: scopesKnown, claims_supported: claimsKnown } = metadata
  const found: string[] = []
  if (!metadata.supportsPKCE())
    found.push('The provider does not announce PKCE with S256. Most providers support it without announcing it.')
  const unknown = scopes.split(/\s+/).filter((scope) => scopesKnown !== undefined && !scopesKnown.includes(scope))
  if (unknown.length > 0) found.push(`The provider does not announce these scopes: ${unknown.join(', ')}.`)
  if (groupsClaim !== null && Array.isArray(claimsKnown) && !claimsKnown.includes(groupsClaim))
    found.push(`The provider does not announce the claim ${groupsClaim}. A test sign-in shows whether it sends it.`)
  if (metadata.end_session_endpoint === undefined)
    found.push('The provider has no page for signing out. Signing out here does not sign out there.')
  return found
}
