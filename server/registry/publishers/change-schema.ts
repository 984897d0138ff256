import { z } from 'zod'
import { email, label } from '../../accounts/users/input.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { encodeGlobalID } from '@pothos/plugin-relay'
import { formerly } from '../../platform/graphql/former-schema.ts'
import { done, payload } from '../../platform/graphql/payload.ts'
import { PublisherRef } from './refs.ts'
import { createPublisher, deletePublisher, updatePublisher } from './service.ts'

export const publisherName = label(100)

/** Id of a publisher without a verified domain. It must not contain a dot, so it cannot be mistaken for a domain. */
export const slug = z
  .string()
  .regex(/^[^.]*$/, 'must not look like a domain. To use a domain as the identifier, claim it with a DNS record')
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])$/,
    'must be 2 to 64 lowercase letters, digits and hyphens, with a letter or digit at both ends',
  )
  .refine((id) => id !== 'verify', 'is reserved by this server. Choose another')

// oxlint-disable-next-line no-control-regex -- control characters are intended here
const noControl = /^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]*$/

export const publisherDescription = z.string().trim().regex(noControl, 'must not contain control characters').nullish()

const nothing = (text: string) => (text === '' ? null : text)

/** An http or https URL with a host and without credentials. An empty string becomes null. */
export const websiteUrl = z
  .string()
  .trim()
  .refine((text) => text === '' || isWebAddress(text), 'must be an http or https address')
  .transform(nothing)
  .nullish()

/** An e-mail address. An empty string becomes null. */
export const contactEmail = z
  .string()
  .trim()
  .refine((text) => text === '' || email.safeParse(text).success, 'must be an e-mail address of at most 254 characters')
  .transform(nothing)
  .nullish()

function isWebAddress(text: string): boolean {
  // The URL parser silently fixes malformed input; reject such input instead.
  // oxlint-disable-next-line no-control-regex -- control characters are intended here
  const url = /^https?:\/\/[^\s\\\u0000-\u001f\u007f]+$/i.test(text) ? URL.parse(text) : null
  return url !== null && url.hostname !== '' && !url.username && !url.password
}

const longText = { validate: publisherDescription, extensions: { maxLength: 4000 } }
const webAddress = { validate: websiteUrl, extensions: { maxLength: 2000 } }

const PublisherPayload = payload('PublisherPayload', 'A publisher after a change.', {
  publisher: { type: PublisherRef, description: 'The publisher.' },
})

builder.mutationField('createPublisher', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: PublisherPayload,
    description: 'Creates a publisher; you become its first admin. To create a verified publisher, claim its domain instead.',
    typeOptions: { description: 'The publisher to create.' },
    argOptions: { description: 'The publisher.' },
    input: {
      slug: t.input.string({
        required: true,
        description:
          'Identifier, which cannot be changed later: 2 to 64 lowercase letters, digits and hyphens, starting and ending with a letter or digit.',
        validate: slug,
      }),
      displayName: t.input.string({ required: true, description: 'Display name.', validate: publisherName }),
      description: t.input.string({ description: 'Description.', ...longText }),
      websiteUrl: t.input.string({ description: 'Website, an http or https URL.', ...webAddress }),
      contactEmail: t.input.string({ description: 'Contact e-mail address.', validate: contactEmail }),
    },
    resolve: async (_root, { input: { slug: id, ...rest } }, context) => ({ publisher: await createPublisher(context, { id, ...rest }) }),
  }),
)

builder.mutationField('updatePublisher', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: PublisherPayload,
    description: 'Changes the details of a publisher, for its admins. Its identifier cannot be changed.',
    typeOptions: { description: 'Details to change. Omitted details keep their values.' },
    argOptions: { description: 'The new details.' },
    input: {
      publisherId: t.input.globalID({ required: true, for: [PublisherRef], description: 'Publisher to change.', ...formerly('id') }),
      displayName: t.input.string({ description: 'Display name.', validate: publisherName.nullish() }),
      description: t.input.string({ description: 'Description, or null.', ...longText }),
      websiteUrl: t.input.string({ description: 'Website, an http or https URL, or null.', ...webAddress }),
      contactEmail: t.input.string({ description: 'Contact e-mail address, or null.', validate: contactEmail }),
      allowsManualPublishing: t.input.boolean({ description: 'Whether people can publish, in addition to jobs of trusted publishers.' }),
    },
    resolve: async (_root, { input: { publisherId, ...rest } }, context) => ({
      publisher: await updatePublisher(context, publisherId.id, rest),
    }),
  }),
)

builder.mutationField('deletePublisher', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('DeletePublisherPayload', 'A publisher that was deleted.', {
      deletedPublisherId: { type: 'ID', description: 'Global id of the publisher.' },
    }),
    extensions: { formerResult: true },
    description: 'Deletes a publisher that owns no packages.',
    typeOptions: { description: 'The publisher to delete.' },
    argOptions: { description: 'The publisher to delete.' },
    input: {
      publisherId: t.input.globalID({ required: true, for: [PublisherRef], description: 'Publisher to delete.', ...formerly('id') }),
    },
    resolve: (_root, { input }, context) =>
      done(deletePublisher(context, input.publisherId.id), { deletedPublisherId: encodeGlobalID('Publisher', input.publisherId.id) }),
  }),
)
