import { builder } from '../../platform/graphql/builder.ts'
import { payload, wordEnum } from '../../platform/graphql/payload.ts'
import type { LinkedIdentity } from './entity.ts'
import type { PublisherRole } from './groups.ts'
import type { Provider } from './providers.ts'

export const OidcProviderRef = builder.objectRef<Provider>('OidcProvider')
export const LinkedIdentityRef = builder.objectRef<LinkedIdentity>('LinkedIdentity')

export const OidcPublisherRoleEnum = wordEnum<PublisherRole>('OidcPublisherRole', 'Role that a group gives in a publisher.', {
  member: 'Can publish.',
  admin: 'Can publish, manage members and packages, and change the details of the publisher.',
})

/** Descriptions that the rules for groups and their input share. */
export const ruleTexts = {
  group: 'The group, as the provider names it in the groups claim.',
  role: 'Role on this server; null for none.',
  publisher: 'Id of the publisher; null for none.',
  publisherRole: 'Role in the publisher. Default: MEMBER.',
  trust:
    'Whether sign-ins through the provider count as having a second factor. Otherwise they do if its ID token has `mfa`, or methods of two kinds, in `amr`.',
}

/** The payload of mutations that send the browser to a provider. */
export const ProviderRedirectPayload = payload('ProviderRedirectPayload', 'Where to send the browser.', {
  redirectUrl: {
    extensions: { secret: true },
    type: 'URL',
    description: 'URL of the provider. Valid for ten minutes, and only in this browser.',
  },
})
