import { Box, Button } from '@mui/material';
import { useState, type ReactNode } from 'react';
import { CreateBase, EditBase, SaveButton, SimpleForm, useCanAccess, useDeleteController, useEditContext, useRecordContext, useResourceContext, type RaRecord } from 'react-admin';
import { Link } from 'react-router-dom';

import { Page } from './Page';
import { Panel } from './Panel';
import { ErrorState, LoadingState } from './DataStates';
import { ConfirmDialog } from './ConfirmDialog';

/** Form fields of equal width, one below the other. */
export const FORM_STYLES = { maxWidth: 520, p: 0, '& .MuiFormControl-root, & .ra-input': { width: '100%' }, '& .ra-input + *': { mt: 1 }, '& .MuiFormHelperText-root': { mb: 0.5 } } as const;

interface CreateProps {
  resource: string;
  title: string;
  defaults?: Record<string, unknown>;
  /** Converts form values to the request body. */
  transform?: (form: Record<string, unknown>) => Record<string, unknown>;
  children: ReactNode;
}

/** A page with a form that creates a record and returns to the list. */
export function CreatePage({ resource, title, defaults, transform, children }: CreateProps) {
  return (
    <CreateBase resource={resource} redirect="list" {...(transform ? { transform } : {})}>
      <Page title={title}>
        <Panel>
          <SimpleForm sx={FORM_STYLES} {...(defaults ? { defaultValues: defaults } : {})} toolbar={<FormToolbar save="Create" />}>{children}</SimpleForm>
        </Panel>
      </Page>
    </CreateBase>
  );
}

interface EditProps<Row> {
  resource: string;
  /** The kind of record, such as `User`, which is shown until the record's name is loaded. */
  noun: string;
  titleOf: (row: Row) => string;
  /** Whether users without the permission to change the record can see this page. */
  publiclyReadable?: boolean;
  /** Content that is shown next to the title. */
  titleAddon?: (row: Row) => ReactNode;
  transform?: (form: Record<string, unknown>) => Record<string, unknown>;
  /** The form fields. Null if the user does not have the permission to change the record. */
  form: ReactNode;
  /** The text in the delete confirmation: the consequences of deleting the record. */
  deleteWarning?: string;
  actions?: (row: Row) => ReactNode;
  /** Content that is shown below the form. */
  children?: (row: Row) => ReactNode;
}

/** Stay on the page and show an error if the record does not exist. By default, react-admin would redirect to the list. */
const STAY_ON_ERROR = { onError: () => {} };

/** The page of a record, with a form and related content. The page shows changes only after the API has confirmed them. */
export function EditPage<Row extends RaRecord>({ resource, transform, publiclyReadable = false, ...props }: EditProps<Row>) {
  return (
    <EditBase resource={resource} redirect={false} mutationMode="pessimistic" disableAuthentication={publiclyReadable} queryOptions={STAY_ON_ERROR} {...(transform ? { transform } : {})}>
      <EditContent resource={resource} {...props} />
    </EditBase>
  );
}

function EditContent<Row extends RaRecord>({ resource, noun, titleOf, titleAddon, form, deleteWarning, actions, children }: EditProps<Row>) {
  const { record, error, refetch } = useEditContext<Row>();
  const { canAccess: canDelete } = useCanAccess({ resource, action: 'delete' });
  if (record === undefined) {
    return (
      <Page title={noun}>
        {error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <LoadingState height={240} />}
        {error && <Box><Button component={Link} to={`/${resource}`}>Back to list</Button></Box>}
      </Page>
    );
  }
  return (
    <Page title={titleOf(record)} titleAddon={titleAddon?.(record)} actions={<>{actions?.(record)}{canDelete && deleteWarning && <DeleteButton noun={noun} name={titleOf(record)} warning={deleteWarning} />}</>}>
      {form && (
        <Panel>
          {/* The key resets the form when a new version of the record is saved. */}
          <SimpleForm key={String(record.version)} sx={FORM_STYLES} toolbar={<FormToolbar save="Save" />}>{form}</SimpleForm>
        </Panel>
      )}
      {children?.(record)}
    </Page>
  );
}

function DeleteButton({ noun, name, warning }: { noun: string; name: string; warning: string }) {
  const record = useRecordContext();
  const [confirming, setConfirming] = useState(false);
  const { isPending, handleDelete } = useDeleteController({
    ...(record && { record }),
    redirect: 'list',
    mutationMode: 'pessimistic',
    mutationOptions: { onSettled: () => setConfirming(false) },
  });
  return (
    <>
      <Button size="small" variant="outlined" color="error" onClick={() => setConfirming(true)}>Delete</Button>
      {confirming && <ConfirmDialog title={`Delete ${noun.toLowerCase()} ${name}?`} description={warning} confirmLabel="Delete" destructive busy={isPending} onConfirm={handleDelete} onClose={() => setConfirming(false)} />}
    </>
  );
}

function FormToolbar({ save }: { save: string }) {
  const resource = useResourceContext();
  return (
    <Box sx={{ display: 'flex', gap: 1, pt: 1.5 }}>
      <SaveButton label={save} icon={<></>} />
      <Button component={Link} to={`/${resource}`}>Back to list</Button>
    </Box>
  );
}
