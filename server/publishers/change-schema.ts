import { builder } from '../graphql/builder.ts'
import type { Publisher } from './entity.ts'
import { contactEmail, publisherDescription, publisherName, slug, websiteUrl } from './input.ts'
import { PublisherRef } from './refs.ts'
import { createPublisher, deletePublisher, updatePublisher } from './service.ts'

const PublisherPayload = builder.objectRef<{ publisher: Publisher }>('PublisherPayload').implement({
  description: 'A publisher after a change.',
  fields: (t) => ({ publisher: t.expose('publisher', { type: PublisherRef, description: 'The publisher.' }) }),
})

const CreatePublisherInput = builder.inputType('CreatePublisherInput', {
  description: 'The publisher to make.',
  fields: (t) => ({
    slug: t.string({
      required: true,
      description: 'Its identifier for ever: 2 to 64 lowercase letters, digits and hyphens, with a letter or digit at both ends.',
      validate: slug,
    }),
    displayName: t.string({ required: true, description: 'Name for people to read.', validate: publisherName }),
    description: t.string({ description: 'What it is.', validate: publisherDescription }),
    websiteUrl: t.string({ description: 'Its website, an http or https address.', validate: websiteUrl }),
    contactEmail: t.string({ description: 'Where to write to.', validate: contactEmail }),
  }),
})

builder.mutationField('createPublisher', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: PublisherPayload,
    description: 'Makes a publisher; you become its first admin. Whoever holds a domain claims it instead.',
    args: { input: t.arg({ type: CreatePublisherInput, required: true, description: 'The publisher.' }) },
    resolve: async (_root, { input: { slug: id, ...rest } }, context) => ({ publisher: await createPublisher(context, { id, ...rest }) }),
  }),
)

const UpdatePublisherInput = builder.inputType('UpdatePublisherInput', {
  description: 'What to change; what is left out stays.',
  fields: (t) => ({
    id: t.globalID({ required: true, for: [PublisherRef], description: 'Which publisher.' }),
    displayName: t.string({ description: 'Name for people to read.', validate: publisherName.nullish() }),
    description: t.string({ description: 'What it is; null for nothing.', validate: publisherDescription }),
    websiteUrl: t.string({ description: 'Its website, an http or https address; null for none.', validate: websiteUrl }),
    contactEmail: t.string({ description: 'Where to write to; null for nowhere.', validate: contactEmail }),
  }),
})

builder.mutationField('updatePublisher', (t) =>
  t.withAuth({ scope: 'write' }).field({
    type: PublisherPayload,
    description: 'Changes what a publisher says of itself, for its admins. Its identifier never changes.',
    args: { input: t.arg({ type: UpdatePublisherInput, required: true, description: 'What to change.' }) },
    resolve: async (_root, { input: { id, ...rest } }, context) => ({ publisher: await updatePublisher(context, id.id, rest) }),
  }),
)

const DeletePublisherInput = builder.inputType('DeletePublisherInput', {
  description: 'The publisher to delete.',
  fields: (t) => ({ id: t.globalID({ required: true, for: [PublisherRef], description: 'Which one.' }) }),
})

builder.mutationField('deletePublisher', (t) =>
  t.withAuth({ scope: 'admin' }).boolean({
    description: 'Deletes a publisher that owns no packages. Always true.',
    args: { input: t.arg({ type: DeletePublisherInput, required: true, description: 'Which one.' }) },
    resolve: async (_root, { input }, context) => {
      await deletePublisher(context, input.id.id)
      return true
    },
  }),
)
