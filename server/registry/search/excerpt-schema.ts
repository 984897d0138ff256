import type { Context } from '../../platform/access/context.ts'
import { builder } from '../../platform/graphql/builder.ts'
import type { Package } from '../packages/entity.ts'
import { type Excerpt, excerptOf, type Segment } from './excerpt.ts'
import type { QueryTerms } from './terms.ts'

const ExcerptSource = builder.enumType('SearchExcerptSource', {
  description: 'Texts that search covers but lists do not show.',
  values: {
    README: { value: 'readme', description: 'The README.' },
    API: { value: 'api', description: 'Names that the public API declares.' },
  } satisfies Record<Uppercase<Excerpt['source']>, { value: Excerpt['source']; description: string }>,
})

const SegmentRef = builder.objectRef<Segment>('SearchExcerptSegment').implement({
  description: 'A part of an excerpt.',
  fields: (t) => ({
    text: t.exposeString('text', { description: 'Plain text.' }),
    isMatch: t.exposeBoolean('isMatch', { description: 'Whether the text is one of the searched words.' }),
  }),
})

const ExcerptRef = builder.objectRef<Excerpt>('SearchExcerpt').implement({
  description: 'Part of a text that contains searched words.',
  fields: (t) => ({
    source: t.expose('source', { type: ExcerptSource, description: 'Which text.' }),
    segments: t.expose('segments', {
      extensions: { size: 10 },
      type: [SegmentRef],
      description: 'The excerpt, split at the searched words.',
    }),
  }),
})

/** Field of a match that explains it. */
export const excerpt = {
  extensions: { cost: 2 },
  type: ExcerptRef,
  nullable: true,
  description: 'Where the package contains words that its name, description and topics do not; null if they contain all words.',
  resolve: ({ node, terms }: { node: Package; terms: QueryTerms | null }, _args: object, context: Context) =>
    terms && excerptOf(context, node, terms),
} as const
