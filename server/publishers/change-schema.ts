import { builder } from '../graphql/builder.ts'
import { done, payload } from '../graphql/payload.ts'
import { contactEmail, publisherDescription, publisherName, slug, websiteUrl } from './input.ts'
import { PublisherRef } from './refs.ts'
import { createPublisher, deletePublisher, updatePublisher } from './service.ts'

const PublisherPayload = payload('PublisherPayload', 'A publisher after a change.', {
  publisher: { type: PublisherRef, description: 'The publisher.' },
})

builder.mutationField('createPublisher', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: PublisherPayload,
    description: 'Makes a publisher; you become its first admin. Whoever holds a domain claims it instead.',
    typeOptions: { description: 'The publisher to make.' },
    argOptions: { description: 'The publisher.' },
    input: {
      slug: t.input.string({
        required: true,
        description: 'Its identifier for ever: 2 to 64 lowercase letters, digits and hyphens, with a letter or digit at both ends.',
        validate: slug,
      }),
      displayName: t.input.string({ required: true, description: 'Name for people to read.', validate: publisherName }),
      description: t.input.string({ description: 'What it is.', validate: publisherDescription }),
      websiteUrl: t.input.string({ description: 'Its website, an http or https address.', validate: websiteUrl }),
      contactEmail: t.input.string({ description: 'Where to write to.', validate: contactEmail }),
    },
    resolve: async (_root, { input: { slug: id, ...rest } }, context) => ({ publisher: await createPublisher(context, { id, ...rest }) }),
  }),
)

builder.mutationField('updatePublisher', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: PublisherPayload,
    description: 'Changes what a publisher says of itself, for its admins. Its identifier never changes.',
    typeOptions: { description: 'What to change; what is left out stays.' },
    argOptions: { description: 'What to change.' },
    input: {
      id: t.input.globalID({ required: true, for: [PublisherRef], description: 'Which publisher.' }),
      displayName: t.input.string({ description: 'Name for people to read.', validate: publisherName.nullish() }),
      description: t.input.string({ description: 'What it is; null for nothing.', validate: publisherDescription }),
      websiteUrl: t.input.string({ description: 'Its website, an http or https address; null for none.', validate: websiteUrl }),
      contactEmail: t.input.string({ description: 'Where to write to; null for nowhere.', validate: contactEmail }),
    },
    resolve: async (_root, { input: { id, ...rest } }, context) => ({ publisher: await updatePublisher(context, id.id, rest) }),
  }),
)

builder.mutationField('deletePublisher', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: 'Boolean',
    description: 'Deletes a publisher that owns no packages. Always true.',
    typeOptions: { description: 'The publisher to delete.' },
    argOptions: { description: 'Which one.' },
    input: { id: t.input.globalID({ required: true, for: [PublisherRef], description: 'Which one.' }) },
    resolve: (_root, { input }, context) => done(deletePublisher(context, input.id.id)),
  }),
)
