import { required, TextInput } from 'react-admin';

import { fieldValidator } from '../../api/validation';
import { CreatePage } from '../../shared/FormPage';
import { DescriptionInput, ValueInput } from './Fields';

const NAME = [required(), fieldValidator('SecretCreate.name', 'Use letters, digits and . _ - without spaces')];

export default function NewSecret() {
  return (
    <CreatePage resource="secrets" title="New secret">
      <TextInput source="name" validate={NAME} helperText="A parameter of a job refers to the secret as secret:NAME" autoComplete="off" />
      <ValueInput label="Value" mandatory help="Weir stores the value encrypted and never shows it again" />
      <DescriptionInput />
    </CreatePage>
  );
}
