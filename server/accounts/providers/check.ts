import type { Context } from '../../platform/access/context.ts'
import { type Client, explainFailure, openClient, readKeys } from './client.ts'
import { type Provider, recordOutcome } from './providers.ts'

export type Checked = { isUsable: boolean; findings: string[] }

/** Reads the metadata and the keys of a provider, and returns what is wrong or missing. */
export async function checkProvider(context: Context, provider: Provider): Promise<Checked> {
  try {
    const client = await openClient(context, provider)
    const { keys } = await readKeys(client)
    if (keys.length === 0)
      return { isUsable: false, findings: ['The provider publishes no keys (jwks_uri), so its ID tokens cannot be verified.'] }
    return { isUsable: true, findings: hints(client, provider) }
  } catch (error) {
    const failure = explainFailure(error, 'provider_failed')
    if (failure.isFaultOfProvider) await recordOutcome(context, provider.name, failure.message)
    const what = failure.code === 'provider_unreachable' ? 'The provider does not answer' : 'The metadata of the provider cannot be used'
    return { isUsable: false, findings: [`${what}: ${failure.message}`] }
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
