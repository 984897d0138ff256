import { builder } from '../../platform/graphql/builder.ts'
import { payload, wordEnum } from '../../platform/graphql/payload.ts'
import { type Checklist, type ChecklistStep, checklistSteps, readChecklist, stepsOf, updateChecklist } from './service.ts'

const Step = wordEnum('SetupStep', 'A step after the setup of a server.', checklistSteps)

const StepRef = builder.objectRef<ChecklistStep>('SetupChecklistStep').implement({
  description: 'A step of the setup checklist.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    step: t.expose('name', { type: Step, description: 'The step.' }),
    isDone: t.exposeBoolean('isDone', { description: 'Whether it is done, according to the current state of the server.' }),
    isOptional: t.exposeBoolean('isOptional', { description: 'Whether the setup is complete without it.' }),
  }),
})

const ChecklistRef = builder.objectRef<Checklist>('SetupChecklist').implement({
  description: 'The checklist after the setup of a server.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    isHidden: t.exposeBoolean('isHidden', { description: 'Whether an administrator has hidden the checklist.' }),
    steps: t.field({
      extensions: { size: Object.keys(checklistSteps).length },
      type: [StepRef],
      description: 'The steps, in order.',
      resolve: (_checklist, _args, context) => stepsOf(context),
    }),
  }),
})

builder.queryField('setupChecklist', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: ChecklistRef,
    description: 'The checklist after the setup of the server. For administrators.',
    resolve: (_root, _args, context) => readChecklist(context),
  }),
)

builder.mutationField('updateSetupChecklist', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('UpdateSetupChecklistPayload', 'The updated checklist.', {
      checklist: { type: ChecklistRef, description: 'The checklist.' },
    }),
    description: 'Hides the setup checklist from all administrators, or shows it again. For administrators.',
    typeOptions: { description: 'Whether to hide the checklist.' },
    argOptions: { description: 'Whether to hide the checklist.' },
    input: { isHidden: t.input.boolean({ required: true, description: 'Whether to hide it.' }) },
    resolve: async (_root, { input }, context) => ({ checklist: await updateChecklist(context, { isHidden: input.isHidden }) }),
  }),
)
