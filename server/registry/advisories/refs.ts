import { builder } from '../../platform/graphql/builder.ts'
import type { KnownAdvisory } from './service.ts'

export const AdvisoryRef = builder.objectRef<KnownAdvisory>('Advisory')
