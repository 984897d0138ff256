import type { FastifyReply, FastifyRequest } from 'fastify'
import { type DocumentNode, execute, type GraphQLSchema, Kind, type OperationDefinitionNode, parse } from 'graphql'
import { withinBudget } from '../access/budget.ts'
import { type Context, createContext } from '../access/context.ts'
import { executeInTurn, rejectExpensive } from '../graphql/cost.ts'
import { readCookie } from '../http/cookies.ts'
import { addressKey } from '../http/limits.ts'
import type { Services } from '../../services.ts'
import type { TrustedDocuments } from '../graphql/trusted-documents.ts'
import type { PageNeeds, Query } from './page-index.ts'

type Answer = Query & { data: unknown }

/** The answers to the first queries of a page. */
export type FirstAnswers = {
  /** The last characters of the CSRF cookie of the request: the console ignores the answers if the browser has changed its session since. */
  session: string
  answers: Answer[]
  /** Whether all queries of the page were answered. */
  isComplete: boolean
  isSignedIn: boolean
}

/** Number of characters of `session`. The rest of the CSRF token stays secret. */
const sessionCharacters = 8

/** Returns a function that executes the first queries of a page as the caller of a request, in process, like a request to `/graphql`. */
export function firstAnswerer(services: Services, schema: GraphQLSchema, documents: TrustedDocuments) {
  const parsed = new Map<string, DocumentNode>()
  function documentOf(hash: string): DocumentNode | null {
    const text = documents.get(hash)
    const known = parsed.get(hash) ?? (text === undefined ? null : parse(text, { noLocation: true }))
    if (known) parsed.set(hash, known)
    return known
  }
  async function answer(context: Context, query: Query): Promise<Answer | null> {
    const document = documentOf(query.hash)
    const operation = document?.definitions.find((node): node is OperationDefinitionNode => node.kind === Kind.OPERATION_DEFINITION)
    if (!document || !operation) return null
    const cost = rejectExpensive(schema, document, operation, query.variables)
    if (context.query) context.query.cost += cost
    const { data, errors } = await executeInTurn(context, cost, () =>
      execute({ schema, document, contextValue: context, variableValues: query.variables }),
    )
    // The console repeats a query that fails, and shows the error.
    return errors?.length ? null : { ...query, data }
  }
  async function answerAll(request: FastifyRequest, reply: FastifyReply, needs: PageNeeds, known: FirstAnswers): Promise<void> {
    const context = await createContext(services, request, reply)
    known.isSignedIn = context.viewer !== null
    context.query = { cost: 0, bucket: await services.limits.use('graphql', context.viewer?.id ?? addressKey(context.ip)) }
    const queries = needs.queries(known.isSignedIn)
    const collect = async (query: Query) => {
      const found = await answer(context, query).catch(() => null)
      if (found) known.answers.push(found)
    }
    await withinBudget(context, () => Promise.all(queries.map(collect)))
    known.isComplete = known.answers.length === queries.length
  }
  /** Returns the answers, without those to queries that fail or do too much work. Never throws: the page is also served if the database is down. */
  return async (request: FastifyRequest, reply: FastifyReply, needs: PageNeeds): Promise<FirstAnswers> => {
    const csrf = readCookie(request, 'csrf', services.config.SERVER_URL) ?? ''
    const known: FirstAnswers = { session: csrf.slice(-sessionCharacters), answers: [], isComplete: false, isSignedIn: false }
    // A header with credentials is not from the console, or belongs to a proxy in front of it.
    if (request.method === 'GET' && request.headers.authorization === undefined)
      await answerAll(request, reply, needs, known).catch(() => {})
    return known
  }
}

/** Whether an answer shows that the subject of the page does not exist, or that the caller cannot see it. */
export function lacksSubject({ data, required = [] }: Answer): boolean {
  let objects = [data]
  for (const names of required) {
    objects = objects
      .flatMap((object) => names.split('|').map((name) => (object as Record<string, unknown> | null)?.[name] ?? null))
      .filter((value) => value !== null)
    if (objects.length === 0) return true
  }
  return false
}
