import { builder } from '../../platform/graphql/builder.ts'
import { done, payload } from '../../platform/graphql/payload.ts'
import { contactEmail, publisherDescription, publisherName, slug, websiteUrl } from './input.ts'
import { PublisherRef } from './refs.ts'
import { createPublisher, deletePublisher, updatePublisher } from './service.ts'

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
      id: t.input.globalID({ required: true, for: [PublisherRef], description: 'Publisher to change.' }),
      displayName: t.input.string({ description: 'Display name.', validate: publisherName.nullish() }),
      description: t.input.string({ description: 'Description, or null.', ...longText }),
      websiteUrl: t.input.string({ description: 'Website, an http or https URL, or null.', ...webAddress }),
      contactEmail: t.input.string({ description: 'Contact e-mail address, or null.', validate: contactEmail }),
    },
    resolve: async (_root, { input: { id, ...rest } }, context) => ({ publisher: await updatePublisher(context, id.id, rest) }),
  }),
)

builder.mutationField('deletePublisher', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: 'Boolean',
    description: 'Deletes a publisher that owns no packages. Always true.',
    typeOptions: { description: 'The publisher to delete.' },
    argOptions: { description: 'The publisher to delete.' },
    input: { id: t.input.globalID({ required: true, for: [PublisherRef], description: 'Publisher to delete.' }) },
    resolve: (_root, { input }, context) => done(deletePublisher(context, input.id.id)),
  }),
)
